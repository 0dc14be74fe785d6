/* Devices: how many there are, which one is current, what they are called. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "standin.h"

static __thread int current = -1;

int device_count(void) { return (int)setting("STANDIN_DEVICES", 1); }
int current_device(void) { return current < 0 ? 0 : current; }

static aclError no_device(const char *function, long device) {
    return refuse(ACL_ERROR_RT_INVALID_DEVICEID, "%s: there is no device %ld, there are %d", function, device, device_count());
}

API aclError aclInit(const char *config) {
    (void)config;
    return device_count() > 0 ? ACL_SUCCESS : no_device("aclInit", 0);
}

API aclError aclFinalize(void) { return ACL_SUCCESS; }

API aclError aclrtGetDeviceCount(uint32_t *number) {
    *number = (uint32_t)device_count();
    return ACL_SUCCESS;
}

API aclError aclrtSetDevice(int32_t device) {
    if (device < 0 || device >= device_count()) return no_device("aclrtSetDevice", device);
    current = device;
    return ACL_SUCCESS;
}

API aclError aclrtGetDevice(int32_t *device) {
    if (current < 0) return ACL_ERROR_RT_CONTEXT_NULL; /* asked for in normal use: no refusal */
    *device = current;
    return ACL_SUCCESS;
}

API aclError aclrtResetDevice(int32_t device) {
    (void)device;
    return ACL_SUCCESS;
}

/* A context is the number of its device, counted from 1. */
API aclError aclrtGetCurrentContext(aclrtContext *context) {
    if (current < 0) return ACL_ERROR_RT_CONTEXT_NULL;
    *context = (void *)(uintptr_t)(current + 1);
    return ACL_SUCCESS;
}

API aclError aclrtSetCurrentContext(aclrtContext context) {
    return aclrtSetDevice((int32_t)(uintptr_t)context - 1);
}

API aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t *flags, int32_t *active) {
    if (flags) *flags = 0;
    *active = current == device;
    return ACL_SUCCESS;
}

/* torch_npu refuses names that it does not know, so this one says nothing of the stand-in; standin_driver does. */
API const char *aclrtGetSocName(void) {
    const char *name = getenv("STANDIN_SOC");
    return name && *name ? name : "Ascend910B1";
}

/* Numbers of cores and the like; 24 is as good as any. */
API aclError aclrtGetDeviceInfo(uint32_t device, aclrtDevAttr attribute, int64_t *value) {
    (void)device, (void)attribute;
    *value = 24;
    return ACL_SUCCESS;
}

API aclError aclGetDeviceCapability(uint32_t device, aclDeviceInfo what, int64_t *value) {
    (void)device, (void)what;
    *value = 24;
    return ACL_SUCCESS;
}

API aclError aclrtDeviceCanAccessPeer(int32_t *can, int32_t device, int32_t peer) {
    (void)device, (void)peer;
    *can = 1;
    return ACL_SUCCESS;
}

API aclError aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
    (void)peer, (void)flags;
    return ACL_SUCCESS;
}

API aclError aclrtDeviceGetBareTgid(int32_t *process) {
    *process = getpid();
    return ACL_SUCCESS;
}

/* Options that are stored by CANN's operator compiler, of which there is none. */
API size_t aclGetCompileoptSize(aclCompileOpt option) {
    (void)option;
    return 256;
}

API aclError aclGetCompileopt(aclCompileOpt option, char *value, size_t length) {
    (void)option;
    if (length) *value = 0;
    return ACL_SUCCESS;
}

API aclError aclSetCompileopt(aclCompileOpt option, const char *value) {
    (void)option, (void)value;
    return ACL_SUCCESS;
}

/* Dumps and logs of CANN: asked to begin and end by torch_npu at import and at exit. */
API aclError aclmdlInitDump(void) { return ACL_SUCCESS; }
API aclError aclmdlFinalizeDump(void) { return ACL_SUCCESS; }
