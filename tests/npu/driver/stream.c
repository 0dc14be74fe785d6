/* Streams and events. Work outside a capture is done when the call returns, so waiting never waits; what is kept is
   which stream is being captured and which streams were joined. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>
#include "standin.h"

typedef struct {
    struct timespec when;
    uint32_t flags;
    int recorded;
    Graph *capture; /* recorded on a captured stream: the graph, the stream and the place on it */
    Stream *stream;
    long position;
} Event;

static Stream *all;
static int next_id;

/* A graph needs a stream of the device as long as it lives: this is how devices run out of them. */
int take_stream(void) {
    if (counted(STREAMS_ALIVE) >= setting("STANDIN_STREAMS", 2048)) return 0;
    count(STREAMS_ALIVE, 1);
    return 1;
}

void give_stream(void) { count(STREAMS_ALIVE, -1); }

static aclError create(aclrtStream *stream) {
    pthread_mutex_lock(&lock);
    aclError code = ACL_SUCCESS;
    if (!take_stream())
        code = refuse(ACL_ERROR_RT_NO_STREAM_RESOURCE, "Stream resources are insufficient");
    else {
        Stream *made = calloc(1, sizeof *made);
        if (!made) abort();
        made->id = next_id++;
        made->device = current_device();
        made->next = all;
        all = made;
        *stream = made;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

Stream *stream_of(aclrtStream stream) {
    static aclrtStream unnamed; /* NULL means the default stream of a program that makes none */
    if (stream) return stream;
    if (!unnamed && create(&unnamed)) abort();
    return unnamed;
}

API aclError aclrtCreateStream(aclrtStream *stream) { return create(stream); }

API aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flags) {
    (void)priority, (void)flags;
    return create(stream);
}

API aclError aclrtDestroyStream(aclrtStream stream) {
    pthread_mutex_lock(&lock);
    for (Stream **link = &all; *link; link = &(*link)->next)
        if (*link == stream) {
            *link = (*link)->next;
            free(stream);
            give_stream();
            break;
        }
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

API aclError aclrtDestroyStreamForce(aclrtStream stream) { return aclrtDestroyStream(stream); }

API aclError aclrtStreamGetId(aclrtStream stream, int32_t *id) {
    *id = stream_of(stream)->id;
    return ACL_SUCCESS;
}

API aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
    (void)stream, (void)mode;
    return ACL_SUCCESS;
}

static aclError wait_for(Stream *stream, const char *function) {
    pthread_mutex_lock(&lock);
    aclError code = stream->fault;
    if (stream->capture) {
        invalidate(stream->capture);
        code = refuse(ACL_ERROR_RT_STREAM_CAPTURED, "%s: Not allow to synchronize captured-stream", function);
    }
    stream->fault = ACL_SUCCESS;
    pthread_mutex_unlock(&lock);
    return code;
}

API aclError aclrtSynchronizeStream(aclrtStream stream) {
    return wait_for(stream_of(stream), "aclrtSynchronizeStream");
}

API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    (void)timeout;
    return wait_for(stream_of(stream), "aclrtSynchronizeStreamWithTimeout");
}

API aclError aclrtSynchronizeDevice(void) {
    aclError code = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    for (Stream *stream = all; stream; stream = stream->next)
        if (stream->device == current_device()) {
            aclError found = wait_for(stream, "aclrtSynchronizeDevice");
            if (found) code = found;
        }
    pthread_mutex_unlock(&lock);
    return code;
}

API aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    (void)timeout;
    return aclrtSynchronizeDevice();
}

API aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
    (void)stream;
    *status = ACL_STREAM_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

API aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flags) {
    Event *made = calloc(1, sizeof *made);
    if (!made) abort();
    made->flags = flags;
    *event = made;
    return ACL_SUCCESS;
}

API aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flags) { return aclrtCreateEventWithFlag(event, flags); }
API aclError aclrtCreateEvent(aclrtEvent *event) { return aclrtCreateEventWithFlag(event, 0); }

API aclError aclrtDestroyEvent(aclrtEvent event) {
    free(event);
    return ACL_SUCCESS;
}

API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    Event *e = event;
    pthread_mutex_lock(&lock);
    e->stream = stream_of(stream);
    e->capture = e->flags & ACL_EVENT_EXTERNAL ? NULL : e->stream->capture;
    e->position = e->stream->recorded;
    e->recorded = 1;
    clock_gettime(CLOCK_MONOTONIC, &e->when);
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

API aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    (void)event, (void)stream;
    return ACL_SUCCESS;
}

/* Waiting on an event of a captured stream draws the waiting stream into the capture, or joins the other to it. */
API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    Event *e = event;
    Stream *s = stream_of(stream);
    pthread_mutex_lock(&lock);
    if (e->capture && e->stream->capture == e->capture) {
        if (!s->capture) join_capture(s, e->capture);
        if (s->capture == e->capture && is_origin(s)) mark_joined(s, e->stream, e->position);
    }
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

API aclError aclrtSynchronizeEvent(aclrtEvent event) {
    Event *e = event;
    aclError code = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    if (e->capture && e->stream->capture == e->capture) {
        invalidate(e->capture);
        code = refuse(ACL_ERROR_RT_EVENT_CAPTURED, "aclrtSynchronizeEvent: the event was recorded in a capture");
    }
    pthread_mutex_unlock(&lock);
    return code;
}

API aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status) {
    (void)event;
    *status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

API aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus *status) {
    (void)event;
    *status = ACL_EVENT_WAIT_STATUS_COMPLETE;
    return ACL_SUCCESS;
}

API aclError aclrtEventElapsedTime(float *milliseconds, aclrtEvent start, aclrtEvent end) {
    const Event *a = start, *b = end;
    *milliseconds = (float)((b->when.tv_sec - a->when.tv_sec) * 1e3 + (b->when.tv_nsec - a->when.tv_nsec) / 1e6);
    return ACL_SUCCESS;
}

API aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t *microseconds) {
    const Event *e = event;
    *microseconds = (uint64_t)e->when.tv_sec * 1000000 + (uint64_t)e->when.tv_nsec / 1000;
    return ACL_SUCCESS;
}
