/* Capture and replay. What is launched on a captured stream is recorded and not done; a replay does all of it again with
   the same addresses, after looking that each of them is still allocated. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "standin.h"

typedef struct {
    Kernel kernel;
    void *argument;
    const void **addresses;
    size_t number;
} Task;

#define MOST_STREAMS 64

struct Graph {
    Task *tasks;
    size_t number, room;
    Stream *origin;
    Stream *streams[MOST_STREAMS]; /* those that are captured into this graph */
    size_t stream_count;
    aclmdlRICaptureMode mode;
    pthread_t thread;
    int invalid;
    uint32_t id;
    Graph *next;
};

static Graph *capturing; /* all captures under way */
static uint32_t next_id = 1;

void launch(Stream *stream, Kernel kernel, void *argument, const void *const *addresses, size_t number) {
    count(LAUNCHES, 1);
    pthread_mutex_lock(&lock);
    Graph *graph = stream->capture;
    if (graph) {
#ifdef FAULT_LAUNCH_DROPPED
        if (graph->number == 1) goto out; /* the second launch of a capture is lost */
#endif
        if (graph->number == graph->room) {
            graph->room = graph->room ? 2 * graph->room : 16;
            graph->tasks = realloc(graph->tasks, graph->room * sizeof *graph->tasks);
            if (!graph->tasks) abort();
        }
        const void **kept = malloc((number + 1) * sizeof *kept);
        if (!kept) abort();
        memcpy(kept, addresses, number * sizeof *kept);
        graph->tasks[graph->number++] = (Task){kernel, argument, kept, number};
        stream->recorded++;
    }
#ifdef FAULT_LAUNCH_DROPPED
out:
#endif
    pthread_mutex_unlock(&lock);
    if (!graph) kernel(argument);
}

/* For kernels that live outside the driver. */
API void standin_launch(aclrtStream stream, Kernel kernel, void *argument, const void *const *addresses, size_t number) {
    launch(stream_of(stream), kernel, argument, addresses, number);
}

API int standin_captured(aclrtStream stream) { return stream_of(stream)->capture != NULL; }

int device_captures(int device) {
    for (Graph *graph = capturing; graph; graph = graph->next)
        if (graph->origin->device == device) return 1;
    return 0;
}

/* Calls that would wait are refused while a capture is under way: of any thread in global mode, of the capturing one
   in the mode of that name, of none in relaxed mode. */
aclError forbidden_in_capture(const char *function) {
    pthread_mutex_lock(&lock);
    aclError code = ACL_SUCCESS;
    for (Graph *graph = capturing; graph && !code; graph = graph->next)
        if (graph->mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL ||
            (graph->mode == ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL && pthread_equal(graph->thread, pthread_self()))) {
            invalidate(graph);
            code = refuse(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "%s: the current capture mode does not support this operation",
                          function);
        }
    pthread_mutex_unlock(&lock);
    return code;
}

void invalidate(Graph *graph) { graph->invalid = 1; }
int is_origin(const Stream *stream) { return stream->capture && stream->capture->origin == stream; }

void join_capture(Stream *stream, Graph *graph) {
    if (graph->stream_count == MOST_STREAMS) abort();
    graph->streams[graph->stream_count++] = stream;
    stream->capture = graph;
    stream->recorded = 0;
    stream->joined = -1;
}

void mark_joined(Stream *origin, Stream *joined, long position) {
    if (joined != origin && position > joined->joined) joined->joined = position;
}

static void dispose(Graph *graph) {
    for (size_t i = 0; i < graph->number; i++) free(graph->tasks[i].addresses);
    free(graph->tasks);
    free(graph);
    give_stream();
}

API aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode) {
    Stream *s = stream_of(stream);
    pthread_mutex_lock(&lock);
    aclError code = ACL_SUCCESS;
    if (s->capture)
        code = refuse(ACL_ERROR_STREAM_CAPTURE_CONFLICT, "stream %d is captured already", s->id);
    else if (!take_stream())
        code = refuse(ACL_ERROR_RT_NO_STREAM_RESOURCE, "Stream resources are insufficient");
    else {
        Graph *graph = calloc(1, sizeof *graph);
        if (!graph) abort();
        graph->origin = s;
        graph->mode = mode;
        graph->thread = pthread_self();
        graph->id = next_id++;
        graph->next = capturing;
        capturing = graph;
        join_capture(s, graph);
        s->joined = 0;
        count(CAPTURES_BEGUN, 1);
        trace("capture_begin", "\"graph\": %u, \"stream\": %d", graph->id, s->id);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

API aclError aclmdlRICaptureGetInfo(aclrtStream stream, aclmdlRICaptureStatus *status, aclmdlRI *graph) {
    Stream *s = stream_of(stream);
    pthread_mutex_lock(&lock);
    *status = !s->capture            ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
              : s->capture->invalid ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
                                    : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
    if (graph) *graph = s->capture;
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

/* Why this capture gives no graph, or success. */
static aclError flaw(const Graph *graph) {
    for (size_t i = 0; i < graph->stream_count; i++) {
        const Stream *s = graph->streams[i];
        if (s != graph->origin && s->joined < s->recorded)
            return refuse(ACL_ERROR_RT_STREAM_UNJOINED, "capture model contains a stream that was not joined to the original stream");
    }
    if (graph->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && !pthread_equal(graph->thread, pthread_self()))
        return refuse(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread");
    if (graph->invalid)
        return refuse(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "the capture was invalidated by an earlier call");
    return ACL_SUCCESS;
}

API aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *made) {
    Stream *s = stream_of(stream);
    pthread_mutex_lock(&lock);
    Graph *graph = s->capture;
    aclError code;
    *made = NULL;
    if (!graph)
        code = refuse(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "stream %d is not being captured", s->id);
    else if (graph->origin != s)
        code = refuse(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture was not begun on stream %d", s->id);
    else {
        code = flaw(graph);
        for (size_t i = 0; i < graph->stream_count; i++) graph->streams[i]->capture = NULL;
        for (Graph **link = &capturing; *link; link = &(*link)->next)
            if (*link == graph) {
                *link = graph->next;
                break;
            }
        trace(code ? "capture_failed" : "capture_end", "\"graph\": %u, \"tasks\": %zu", graph->id, graph->number);
        if (code) {
            count(CAPTURES_FAILED, 1);
            dispose(graph);
        } else {
            count(CAPTURES_ENDED, 1);
            count(TASKS_CAPTURED, (long)graph->number);
            count(GRAPHS_ALIVE, 1);
            *made = graph;
        }
    }
    pthread_mutex_unlock(&lock);
    return code;
}

API aclError aclmdlRIExecuteAsync(aclmdlRI model, aclrtStream stream) {
    Graph *graph = model;
    Stream *s = stream_of(stream);
    count(REPLAYS, 1);
    trace("replay", "\"graph\": %u, \"tasks\": %zu, \"stream\": %d", graph->id, graph->number, s->id);
#ifdef FAULT_REPLAY_NOTHING
    return ACL_SUCCESS;
#endif
    for (size_t i = 0; i < graph->number; i++) {
        Task *task = &graph->tasks[i];
        for (size_t a = 0; a < task->number; a++)
            if (!alive(task->addresses[a])) {
                /* as on a device: the launch succeeds, the next wait tells */
                s->fault = refuse(ACL_ERROR_RT_MODEL_EXECUTE, "Invalid addr %p in task %zu of a graph", task->addresses[a], i);
                return ACL_SUCCESS;
            }
        task->kernel(task->argument);
        count(TASKS_REPLAYED, 1);
    }
    return ACL_SUCCESS;
}

API aclError aclmdlRIDestroy(aclmdlRI model) {
    pthread_mutex_lock(&lock);
    if (model) {
        trace("graph_freed", "\"graph\": %u", ((Graph *)model)->id);
        dispose(model);
        count(GRAPHS_ALIVE, -1);
    }
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

/* Swaps the mode of this thread with the given one; the allocator uses it to be allowed to allocate, which we allow. */
API aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode *mode) {
    static __thread aclmdlRICaptureMode current = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
    aclmdlRICaptureMode before = current;
    current = *mode;
    *mode = before;
    return ACL_SUCCESS;
}
