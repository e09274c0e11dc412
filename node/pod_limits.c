#include "node/pod_limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/encoding/uuid.h"

#define NO_LIMITS "rbps=max wbps=max riops=max wiops=max"

struct pod_limits {
    pthread_mutex_t lock;
    struct string_list ours; /* "POD MAJOR:MINOR" */
};

struct pod_limits *pod_limits_new(void)
{
    struct pod_limits *limits = xcalloc(1, sizeof(*limits));

    pthread_mutex_init(&limits->lock, NULL);
    return limits;
}

void pod_limits_free(struct pod_limits *limits)
{
    if (!limits)
        return;
    string_list_done(&limits->ours);
    pthread_mutex_destroy(&limits->lock);
    free(limits);
}

/* --- what is ours --- */

static bool is_ours(struct pod_limits *limits, const char *name)
{
    pthread_mutex_lock(&limits->lock);
    bool found = string_list_has(&limits->ours, name);
    pthread_mutex_unlock(&limits->lock);
    return found;
}

static void note_ours(struct pod_limits *limits, const char *name)
{
    pthread_mutex_lock(&limits->lock);
    if (!string_list_has(&limits->ours, name))
        string_list_add(&limits->ours, name);
    pthread_mutex_unlock(&limits->lock);
}

/* Leaves those that @keeps says yes to. */
static void filter_ours(struct pod_limits *limits,
                        bool (*keeps)(const char *name, const void *object), const void *object)
{
    struct string_list kept = {0};

    pthread_mutex_lock(&limits->lock);
    for (size_t i = 0; i < limits->ours.count; i++)
        if (keeps(limits->ours.items[i], object))
            string_list_add(&kept, limits->ours.items[i]);
    string_list_done(&limits->ours);
    limits->ours = kept;
    pthread_mutex_unlock(&limits->lock);
}

static bool is_another(const char *name, const void *object)
{
    return strcmp(name, object) != 0;
}

static bool is_of_pods(const char *name, const void *object)
{
    _cleanup_free_ char *pod = xstrndup(name, strcspn(name, " "));

    return string_list_has(object, pod);
}

void pod_limits_keep(struct pod_limits *limits, const struct string_list *pods)
{
    filter_ours(limits, is_of_pods, pods);
}

/* --- cgroups --- */

/* Finds the pod's io.max and reads it; both are NULL if there is none. */
static int find_io_max(struct host *host, const char *pod, char **path, char **text,
                       struct error *err)
{
    static const struct {
        const char *before;
        const char *after;
        bool is_systemd; /* whose names have '_' for '-' */
    } places[] = {
        {"kubepods.slice/kubepods-pod", ".slice", true},
        {"kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod", ".slice", true},
        {"kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod", ".slice", true},
        {"kubepods/pod", "", false},
        {"kubepods/burstable/pod", "", false},
        {"kubepods/besteffort/pod", "", false},
    };
    _cleanup_free_ char *escaped = xstrdup(pod);

    for (char *dash = strchr(escaped, '-'); dash; dash = strchr(dash, '-'))
        *dash = '_';
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        _cleanup_free_ char *file =
            xasprintf("%s%s%s/io.max", places[i].before, places[i].is_systemd ? escaped : pod,
                      places[i].after);

        if (host->ops->cgroup_read(host, file, text, err) < 0)
            return -1;
        if (*text) {
            *path = TAKE(file);
            return 0;
        }
    }
    return 0;
}

/* What io.max has for the device, without its number. Caller frees; NULL: nothing. */
static char *find_line(const char *text, const char *number)
{
    const size_t length = strlen(number);

    for (const char *line = text; *line; line += strspn(line, "\n")) {
        const size_t end = strcspn(line, "\n");

        if (strncmp(line, number, length) == 0 && line[length] == ' ')
            return xstrndup(line + length + 1, end - length - 1);
        line += end;
    }
    return NULL;
}

static int change_line(struct host *host, const char *path, const char *number, const char *limits,
                       struct error *err)
{
    _cleanup_free_ char *line = xasprintf("%s %s", number, limits);

    return host->ops->cgroup_write(host, path, line, err);
}

int pod_limits_set(struct pod_limits *limits, struct host *host, const char *pod, dev_t device,
                   const char *wanted, bool *is_missing, struct error *err)
{
    _cleanup_free_ char *number = xasprintf("%u:%u", major(device), minor(device));
    _cleanup_free_ char *name = xasprintf("%s %s", pod, number);
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *text = NULL;

    if (!uuid_text_is_valid(pod))
        return error_set(err, STATUS_INVALID_ARGUMENT, "the pod's uid '%.64s' is no uuid", pod);
    *is_missing = false;
    if (!wanted && !is_ours(limits, name))
        return 0;
    if (find_io_max(host, pod, &path, &text, err) < 0)
        return -1;
    *is_missing = !path;
    if (!path)
        return 0;
    _cleanup_free_ char *present = find_line(text, number);
    if (strcmp(present ? present : NO_LIMITS, wanted ? wanted : NO_LIMITS) != 0 &&
        change_line(host, path, number, wanted ? wanted : NO_LIMITS, err) < 0)
        return -1;
    if (wanted)
        note_ours(limits, name);
    else
        filter_ours(limits, is_another, name);
    return 0;
}

/* --- kubelet --- */

/* The uuid at the beginning of @from, if @end follows it. */
static char *uuid_before(const char *from, char end)
{
    const size_t length = strcspn(from, "/");
    _cleanup_free_ char *uuid = xstrndup(from, length);

    return from[length] == end && uuid_text_is_valid(uuid) ? TAKE(uuid) : NULL;
}

char *kubelet_path_pod(const char *path)
{
    const char *pods = strstr(path, "/pods/");
    const char *devices = strstr(path, "/kubernetes.io/csi/volumeDevices/publish/");

    if (devices) /* .../NAME/POD */
        return uuid_before(strrchr(path, '/') + 1, '\0');
    return pods ? uuid_before(pods + strlen("/pods/"), '/') : NULL;
}
