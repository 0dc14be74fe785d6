/* Memory of a device is memory of the host, given out up to a limit and known by its ranges, so that a task with the
   address of freed memory fails as it does on a device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "standin.h"

#define MOST_DEVICES 64

typedef struct {
    char *start;
    size_t size;
    int device;
} Range;

static Range *ranges;
static size_t number, room;
static size_t used[MOST_DEVICES];

static size_t total_bytes(void) { return (size_t)setting("STANDIN_MEMORY_MIB", 4096) << 20; }

/* STANDIN_BUSY="3:97,5:40": per cent of a card's memory that other processes hold. */
static size_t held_by_others(int device) {
    const char *text = getenv("STANDIN_BUSY");
    for (int card, percent, length; text && sscanf(text, "%d:%d%n", &card, &percent, &length) == 2;) {
        if (card == device) return total_bytes() / 100 * (size_t)percent;
        text += length;
        text = *text == ',' ? text + 1 : NULL;
    }
    return 0;
}

static size_t free_bytes(int device) {
    size_t taken = used[device % MOST_DEVICES] + held_by_others(device);
    return taken < total_bytes() ? total_bytes() - taken : 0;
}

int alive(const void *address) {
    for (size_t i = 0; i < number; i++)
        if ((const char *)address >= ranges[i].start && (const char *)address < ranges[i].start + ranges[i].size) return 1;
    return 0;
}

static aclError give(void **pointer, size_t size, int device) {
    pthread_mutex_lock(&lock);
    aclError code = ACL_SUCCESS;
    size_t whole = size ? size : 1;
    void *memory = NULL;
    if (device >= 0 && whole > free_bytes(device))
        code = refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "device %d has %zu bytes free, %zu were asked for", device,
                      free_bytes(device), whole);
    else if (posix_memalign(&memory, 512, whole))
        code = refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host has no %zu bytes", whole);
    else {
        if (number == room) {
            room = room ? 2 * room : 64;
            ranges = realloc(ranges, room * sizeof *ranges);
            if (!ranges) abort();
        }
        memset(memory, 0xFF, whole); /* what was never written reads as NaN */
        ranges[number++] = (Range){memory, whole, device};
        if (device >= 0) used[device % MOST_DEVICES] += whole;
        *pointer = memory;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static aclError take_back(void *pointer, const char *function) {
    pthread_mutex_lock(&lock);
    aclError code = pointer ? ACL_ERROR_RT_PARAM_INVALID : ACL_SUCCESS;
    for (size_t i = 0; i < number && code; i++)
        if (ranges[i].start == pointer) {
            if (ranges[i].device >= 0) used[ranges[i].device % MOST_DEVICES] -= ranges[i].size;
            free(pointer);
            ranges[i] = ranges[--number];
            code = ACL_SUCCESS;
        }
    if (code) refuse(code, "%s: %p was not allocated", function, pointer);
    pthread_mutex_unlock(&lock);
    return code;
}

API aclError aclrtMalloc(void **pointer, size_t size, aclrtMemMallocPolicy policy) {
    (void)policy;
    return give(pointer, size, current_device());
}

API aclError aclrtMallocAlign32(void **pointer, size_t size, aclrtMemMallocPolicy policy) {
    return aclrtMalloc(pointer, size, policy);
}

API aclError aclrtFree(void *pointer) { return take_back(pointer, "aclrtFree"); }
API aclError aclrtMallocHost(void **pointer, size_t size) { return give(pointer, size, -1); }
API aclError aclrtFreeHost(void *pointer) { return take_back(pointer, "aclrtFreeHost"); }

API aclError aclrtGetMemInfo(aclrtMemAttr attribute, size_t *available, size_t *total) {
    (void)attribute;
    *available = free_bytes(current_device());
    *total = total_bytes();
    return ACL_SUCCESS;
}

typedef struct {
    void *target;
    const void *source; /* NULL: fill with `value` */
    int value;
    size_t size;
} Copy;

static void copy(void *argument) {
    const Copy *c = argument;
    if (c->source) memmove(c->target, c->source, c->size);
    else memset(c->target, c->value, c->size);
}

static aclError queue(Copy c, size_t most, aclrtStream stream) {
    if (c.size > most) return refuse(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes do not fit into %zu", c.size, most);
    Copy *kept = malloc(sizeof *kept);
    if (!kept) abort();
    *kept = c;
    const void *addresses[] = {c.target, c.source};
    count(COPIES, 1);
    /* only memory of ours can be checked; pageable host memory belongs to the program */
    size_t first = alive(c.target) ? 0 : 1, end = c.source && alive(c.source) ? 2 : 1;
    launch(stream_of(stream), copy, kept, addresses + first, end > first ? end - first : 0);
    return ACL_SUCCESS;
}

API aclError aclrtMemcpy(void *target, size_t most, const void *source, size_t size, aclrtMemcpyKind kind) {
    (void)kind;
    aclError code = forbidden_in_capture("aclrtMemcpy");
    if (code) return code;
    if (size > most) return refuse(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes do not fit into %zu", size, most);
    count(COPIES, 1);
    memmove(target, source, size);
    return ACL_SUCCESS;
}

API aclError aclrtMemcpyAsync(void *target, size_t most, const void *source, size_t size, aclrtMemcpyKind kind,
                              aclrtStream stream) {
    (void)kind;
    return queue((Copy){target, source, 0, size}, most, stream);
}

API aclError aclrtMemset(void *target, size_t most, int32_t value, size_t size) {
    aclError code = forbidden_in_capture("aclrtMemset");
    if (code) return code;
    if (size > most) return refuse(ACL_ERROR_RT_PARAM_INVALID, "%zu bytes do not fit into %zu", size, most);
    memset(target, value, size);
    return ACL_SUCCESS;
}

API aclError aclrtMemsetAsync(void *target, size_t most, int32_t value, size_t size, aclrtStream stream) {
    return queue((Copy){target, NULL, value, size}, most, stream);
}
