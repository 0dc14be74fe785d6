/* How the driver speaks: counters, a trace, refusals with their text, and the refusal to be used beside a real CANN. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "standin.h"

pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static long counters[COUNTERS];
static const char *const NAMES[COUNTERS] = {
    "captures_begun", "captures_ended", "captures_failed", "replays", "tasks_captured", "tasks_replayed", "launches",
    "copies", "refusals", "graphs_alive", "streams_alive", "unlisted"};
static char last_message[512] = "stand-in CANN driver: no message";
static aclError codes[256];
static size_t code_count;

void count(Counter counter, long by) {
    pthread_mutex_lock(&lock);
    counters[counter] += by;
    pthread_mutex_unlock(&lock);
}

long counted(Counter counter) { return counters[counter]; }

/* For tests: -1 for a name that is no counter. */
API long standin_count(const char *name) {
    for (int i = 0; i < COUNTERS; i++)
        if (!strcmp(name, NAMES[i])) return counters[i];
    return -1;
}

/* For tests: how often a call was refused with this code. */
API long standin_refused(aclError code) {
    long times = 0;
    for (size_t i = 0; i < code_count; i++) times += codes[i] == code;
    return times;
}

/* By this symbol a program can tell that the driver is none. */
API const char *standin_driver(void) { return "stand-in CANN driver"; }

/* torch_npu adds this text to its own exceptions. */
API const char *aclGetRecentErrMsg(void) { return last_message; }

long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

/* One JSON line an event in the file named by STANDIN_TRACE, appended in one write so that processes can share it. */
void trace(const char *event, const char *format, ...) {
    const char *path = getenv("STANDIN_TRACE");
    if (!path || !*path) return;
    char text[400], line[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int length = snprintf(line, sizeof line, "{\"driver\": \"stand-in\", \"pid\": %d, \"event\": \"%s\"%s%s}\n", getpid(),
                          event, *text ? ", " : "", text);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return;
    if (write(file, line, length) != length) fprintf(stderr, "stand-in CANN driver: the trace cannot be written\n");
    close(file);
}

aclError refuse(aclError code, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    snprintf(last_message, sizeof last_message, "stand-in CANN driver: %s", text);
    counters[REFUSALS]++;
    if (code_count < sizeof codes / sizeof *codes) codes[code_count++] = code;
    pthread_mutex_unlock(&lock);
    trace("refused", "\"code\": %d, \"text\": \"%s\"", code, text);
    return code;
}

/* Every function that the wheel links to and that we do not define comes here. One that returns an error code does so,
   and torch_npu raises with our text; of any other the caller would take what we return for a result. */
API aclError standin_unlisted(const char *function, int returns_error) {
    fprintf(stderr, "stand-in CANN driver: %s was called, which it does not have\n", function);
    count(UNLISTED, 1);
    aclError code = refuse(ACL_ERROR_API_NOT_SUPPORT, "the function %s is not part of it", function);
    if (!returns_error) {
        fflush(stderr);
        abort();
    }
    return code;
}

static int there(const char *root, const char *path) {
    char whole[1024];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    return access(whole, F_OK) == 0;
}

/* Never beside a real CANN: results of the two must not be confused. STANDIN_ROOT is for the test of this. */
__attribute__((constructor)) static void refuse_beside_cann(void) {
    static const char *const VARIABLES[] = {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "ASCEND_OPP_PATH"};
    static const char *const PATHS[] = {"/usr/local/Ascend", "/dev/davinci_manager", "/dev/davinci0", "/dev/hisi_hdc",
                                        "/usr/local/bin/npu-smi"};
    const char *found = NULL, *root = getenv("STANDIN_ROOT"), *home = getenv("HOME");
    char own[1024];
    for (size_t i = 0; !found && i < sizeof VARIABLES / sizeof *VARIABLES; i++)
        if (getenv(VARIABLES[i]) && *getenv(VARIABLES[i])) found = VARIABLES[i];
    for (size_t i = 0; !found && i < sizeof PATHS / sizeof *PATHS; i++)
        if (there(root ? root : "", PATHS[i])) found = PATHS[i];
    if (!found && home) {
        snprintf(own, sizeof own, "%s/Ascend", home);
        if (there(root ? root : "", own)) found = own;
    }
    if (!found) return;
    fprintf(stderr, "stand-in CANN driver: not loaded, there is a real CANN here (%s). Run on the device itself.\n", found);
    fflush(stderr);
    _exit(97);
}

/* The three functions of the secure C library that the wheel takes from CANN. */
API int vsnprintf_s(char *target, size_t size, size_t most, const char *format, va_list arguments) {
    int length = vsnprintf(target, size < most + 1 ? size : most + 1, format, arguments);
    return length >= 0 && (size_t)length < size ? length : -1;
}

API int snprintf_s(char *target, size_t size, size_t most, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf_s(target, size, most, format, arguments);
    va_end(arguments);
    return length;
}

API int strcpy_s(char *target, size_t size, const char *source) {
    if (strlen(source) >= size) return 34;
    strcpy(target, source);
    return 0;
}
