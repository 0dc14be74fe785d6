/* The allow-list: what torch_npu calls on its way and what has nothing to do on a host. Everything that is not defined
   fails with its name. */
#include "standin.h"

/* Overflow handling of floating point numbers: the host has one way only. */
API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
    (void)mode;
    return ACL_SUCCESS;
}

/* Options of the runtime (deterministic computing and the like): kept, so that what was set is read back. */
#define MOST_OPTIONS 64
static int64_t options[MOST_OPTIONS];

API aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) {
    if ((unsigned)option >= MOST_OPTIONS) return refuse(ACL_ERROR_RT_PARAM_INVALID, "no option %d", (int)option);
    options[option] = value;
    return ACL_SUCCESS;
}

API aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t *value) {
    if ((unsigned)option >= MOST_OPTIONS) return refuse(ACL_ERROR_RT_PARAM_INVALID, "no option %d", (int)option);
    *value = options[option];
    return ACL_SUCCESS;
}

API aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value) { return aclrtSetSysParamOpt(option, value); }

/* Limits of time: what is launched is done at once. */
API aclError aclrtSetOpExecuteTimeOut(uint32_t seconds) {
    (void)seconds;
    return ACL_SUCCESS;
}

API aclError aclrtSetOpWaitTimeout(uint32_t seconds) {
    (void)seconds;
    return ACL_SUCCESS;
}

/* Cores that a device or a stream may use: all of them. */
API aclError aclrtGetDeviceResLimit(int32_t device, aclrtDevResLimitType type, uint32_t *value) {
    (void)device, (void)type;
    *value = 24;
    return ACL_SUCCESS;
}

API aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value) {
    (void)stream, (void)type;
    *value = 24;
    return ACL_SUCCESS;
}

/* CANN's own log file. */
API void aclAppLog(aclLogLevel level, const char *function, const char *file, uint32_t line, const char *format, ...) {
    (void)level, (void)function, (void)file, (void)line, (void)format;
}
