/* The descriptions that torch_npu makes of an aclop operator before it executes it, or refuses to in a capture. They are
   made and freed; what would execute one is not here and fails with its name. */
#include <stdlib.h>
#include "standin.h"

#define MOST_DIMENSIONS 32

struct aclTensorDesc {
    aclDataType type;
    aclFormat format;
    int number;
    int64_t sizes[MOST_DIMENSIONS];
};

static void *made(size_t size) {
    void *object = calloc(1, size);
    if (!object) abort();
    return object;
}

#define UNUSED(name) (void)name

API aclError aclSetTensorShape(aclTensorDesc *description, int number, const int64_t *sizes) {
    description->number = number < MOST_DIMENSIONS ? number : MOST_DIMENSIONS;
    for (int i = 0; i < description->number; i++) description->sizes[i] = sizes[i];
    return ACL_SUCCESS;
}

API aclTensorDesc *aclCreateTensorDesc(aclDataType type, int number, const int64_t *sizes, aclFormat format) {
    aclTensorDesc *description = made(sizeof *description);
    description->type = type;
    description->format = format;
    aclSetTensorShape(description, number, sizes);
    return description;
}

API void aclDestroyTensorDesc(const aclTensorDesc *description) { free((void *)description); }
API aclDataType aclGetTensorDescType(const aclTensorDesc *description) { return description->type; }
API aclFormat aclGetTensorDescFormat(const aclTensorDesc *description) { return description->format; }
API size_t aclGetTensorDescNumDims(const aclTensorDesc *description) { return (size_t)description->number; }

API aclError aclGetTensorDescDimV2(const aclTensorDesc *description, size_t index, int64_t *size) {
    *size = index < (size_t)description->number ? description->sizes[index] : 0;
    return ACL_SUCCESS;
}

API aclError aclSetTensorFormat(aclTensorDesc *description, aclFormat format) {
    UNUSED(description), UNUSED(format);
    return ACL_SUCCESS;
}

API aclError aclSetTensorPlaceMent(aclTensorDesc *description, aclMemType place) {
    UNUSED(description), UNUSED(place);
    return ACL_SUCCESS;
}

API void aclSetTensorDescName(aclTensorDesc *description, const char *name) { UNUSED(description), UNUSED(name); }

API aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) {
    UNUSED(data), UNUSED(size);
    return made(1);
}

API aclError aclDestroyDataBuffer(const aclDataBuffer *buffer) {
    free((void *)buffer);
    return ACL_SUCCESS;
}

API aclopAttr *aclopCreateAttr(void) { return made(1); }
API void aclopDestroyAttr(const aclopAttr *attribute) { free((void *)attribute); }

#define SETTER(name, ...)                        \
    API aclError name(__VA_ARGS__) {             \
        UNUSED(attribute), UNUSED(key);          \
        return ACL_SUCCESS;                      \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
SETTER(aclopSetAttrBool, aclopAttr *attribute, const char *key, uint8_t value)
SETTER(aclopSetAttrInt, aclopAttr *attribute, const char *key, int64_t value)
SETTER(aclopSetAttrFloat, aclopAttr *attribute, const char *key, float value)
SETTER(aclopSetAttrString, aclopAttr *attribute, const char *key, const char *value)
SETTER(aclopSetAttrDataType, aclopAttr *attribute, const char *key, aclDataType value)
SETTER(aclopSetAttrListBool, aclopAttr *attribute, const char *key, int number, const uint8_t *values)
SETTER(aclopSetAttrListInt, aclopAttr *attribute, const char *key, int number, const int64_t *values)
SETTER(aclopSetAttrListFloat, aclopAttr *attribute, const char *key, int number, const float *values)
SETTER(aclopSetAttrListListInt, aclopAttr *attribute, const char *key, int number, const int *sizes, const int64_t *const *values)
