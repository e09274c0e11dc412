#include "controller/fsck/pv_dump.h"

#include <stdlib.h>

#include "common/base/memory.h"
#include "common/encoding/json.h"
#include "common/kube/objects/kube_dump.h"

struct pv_reading {
    const char *driver;
    struct pv_dump dump;
};

static int keep_volume(void *context, const char *kind, const json_t *value, struct error *err)
{
    struct pv_reading *reading = context;
    void *object = NULL;

    if (kube_kind_check(KUBE_PV, kind, err) < 0 ||
        kube_object_decode(KUBE_PV, value, &object, err) < 0)
        return -1;
    struct kube_pv *pv = object;
    if (!kube_same(pv->driver, reading->driver)) {
        kube_object_free(KUBE_PV, pv);
        return 0;
    }
    *array_add(reading->dump.items, reading->dump.count) = pv;
    if (!pv->handle)
        return error_set(err, STATUS_INVALID_ARGUMENT, "spec.csi.volumeHandle is missing");
    return 0;
}

int pv_dump_load(const char *path, const char *driver, struct pv_dump *dump, struct error *err)
{
    struct pv_reading reading = {.driver = driver};
    json_auto_t *json = NULL;

    if (json_load_path(path, PV_DUMP_LIMIT, &json, err) < 0)
        return -1;
    if (kube_dump_each(json, keep_volume, &reading, err) < 0) {
        pv_dump_done(&reading.dump);
        return error_wrap(err, "'%s' is no output of 'kubectl get pv -o json'", path);
    }
    *dump = reading.dump;
    return 0;
}

void pv_dump_done(struct pv_dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        kube_object_free(KUBE_PV, dump->items[i]);
    free(dump->items);
    *dump = (struct pv_dump){0};
}
