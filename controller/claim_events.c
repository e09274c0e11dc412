#include "controller/claim_events.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/config/class_parameters.h"
#include "common/encoding/uuid.h"
#include "controller/backend.h"
#include "controller/place.h"

#define LINE_LIMIT 1024 /* as much as an event takes */

/* False if the claim is not known, or events are off. */
static bool find_claim(const struct controller *controller, const struct strmap *parameters,
                       const char *volume_name, struct event_subject *subject)
{
    if (!controller->events || !parameters)
        return false;
    const size_t length = strlen(volume_name);
    const char *uid = length < UUID_LENGTH ? "" : volume_name + length - UUID_LENGTH;
    *subject = (struct event_subject){
        .api_version = "v1",
        .kind = "PersistentVolumeClaim",
        .name_space = strmap_get_or(parameters, PARAM_PVC_NAMESPACE, ""),
        .name = strmap_get_or(parameters, PARAM_PVC_NAME, ""),
        /* kubectl describe shows events by the claim's uid, which csi-provisioner puts at the end
         * of the volume's name: "pvc-UID" */
        .uid = uuid_text_is_valid(uid) ? uid : "",
    };
    return subject->name_space[0] && subject->name[0];
}

void claim_event_refused(const struct controller *controller, const struct strmap *parameters,
                         const char *volume_name, const struct error *err)
{
    struct event_subject claim;

    if (err->status == STATUS_RESOURCE_EXHAUSTED &&
        find_claim(controller, parameters, volume_name, &claim))
        events_emit(controller->events, &claim, EVENT_WARNING, "VolumeNotPlaced", "%s",
                    err->message);
}

/* One that the requirement allows, and that is not used all the same. */
static bool was_dropped(const struct decision *decision, size_t i)
{
    const char *refusal = decision->request->candidates[i].refusal;

    return decision->verdicts[i] == VERDICT_NO_SPACE ||
           (decision->verdicts[i] == VERDICT_REFUSED && refusal &&
            strcmp(refusal, PLACE_TAKEN_OVER) == 0);
}

void claim_event_placed(const struct controller *controller, const struct strmap *parameters,
                        const struct decision *decision)
{
    _cleanup_text_ struct text line = TEXT_INIT(LINE_LIMIT);
    struct event_subject claim;
    size_t dropped = 0;

    for (size_t i = 0; i < decision->request->count; i++)
        dropped += was_dropped(decision, i);
    if (dropped == 0 || !find_claim(controller, parameters, decision->request->volume_name, &claim))
        return;
    decision_print_line(decision, &line);
    events_emit(controller->events, &claim, EVENT_NORMAL, "VolumePlaced", "%s", text_chars(&line));
}

void claim_event_misspelt(const struct controller *controller, struct call *call,
                          const struct strmap *parameters, const char *volume_name)
{
    const enum class_driver driver =
        controller_backend(controller) == &RBD_BACKEND ? CLASS_RBD : CLASS_CEPHFS;

    for (size_t i = 0; i < parameters->count; i++) {
        const char *key = parameters->entries[i].key;
        struct event_subject claim;

        if (class_parameter_find(key, CLASS_ANY_DRIVER))
            continue;
        const char *meant = class_parameter_suggest(key, driver, CLASS_CREATE_VOLUME);
        if (!meant)
            continue;
        _cleanup_free_ char *line = xasprintf(
            "the StorageClass has an unknown parameter '%.64s'; did you mean '%s'?", key, meant);
        log_warn(call, "%s", line);
        if (find_claim(controller, parameters, volume_name, &claim))
            events_emit(controller->events, &claim, EVENT_WARNING, "UnknownParameter", "%s", line);
    }
}
