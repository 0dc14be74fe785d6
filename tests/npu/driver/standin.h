/* What the parts of the stand-in driver share. The declarations of the functions that we define come from the headers
   in the installed torch_npu wheel, so a signature that does not fit is an error of the compiler. */
#ifndef STANDIN_H
#define STANDIN_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "acl/acl_dump.h"
#include "acl/error_codes/rt_error_codes.h"

#define API __attribute__((visibility("default")))

typedef void (*Kernel)(void *argument);

typedef struct Graph Graph;

typedef struct Stream {
    int id;
    int device;
    Graph *capture;         /* the graph that records what is launched here, or NULL */
    long recorded, joined;  /* while captured: tasks put on this stream; how many of them the origin waits for */
    aclError fault;         /* what the next synchronisation reports */
    struct Stream *next;
} Stream;

/* say.c */
typedef enum {
    CAPTURES_BEGUN, CAPTURES_ENDED, CAPTURES_FAILED, REPLAYS, TASKS_CAPTURED, TASKS_REPLAYED, LAUNCHES, COPIES,
    REFUSALS, GRAPHS_ALIVE, STREAMS_ALIVE, UNLISTED, COUNTERS
} Counter;
void count(Counter counter, long by);
long counted(Counter counter);
aclError refuse(aclError code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void trace(const char *event, const char *format, ...) __attribute__((format(printf, 2, 3)));
long setting(const char *name, long otherwise);
extern pthread_mutex_t lock; /* recursive; held by every function with state */

/* device.c */
int current_device(void);
int device_count(void);

/* memory.c */
int alive(const void *address);

/* stream.c */
Stream *stream_of(aclrtStream stream);
int take_stream(void);
void give_stream(void);

/* graph.c */
void launch(Stream *stream, Kernel kernel, void *argument, const void *const *addresses, size_t number);
aclError forbidden_in_capture(const char *function);
int device_captures(int device);
void join_capture(Stream *stream, Graph *graph);
void mark_joined(Stream *origin, Stream *joined, long position);
int is_origin(const Stream *stream);
void invalidate(Graph *graph);

#endif
