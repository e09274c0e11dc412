/*
 * Mounts of libcephfs. It has no time limit for anything but mounting: with the metadata servers
 * away every call waits for ever, also that which unmounts, and nothing ends it. So every call has
 * a thread of its own, which the caller leaves when its time is up. The thread keeps the mount and
 * the connection; how many may be blocked is limited.
 *
 * A request for a file that another client has just changed, the manager its .meta for example,
 * may wait for up to five seconds (seen with 16.2). A second request for the same file mostly ends
 * that in some milliseconds: the nudge. It seems that the metadata server waits for its own log,
 * which it writes when something else makes it write.
 *
 * A process that is killed leaves a session, and with it what the metadata servers have granted:
 * others, among them the manager with all its commands, wait for that until the session times out,
 * a minute later. Hence the name of the session: the next process of the same name begins by ending
 * it (reclaim). A name whose session has been ended from outside is not taken again: another living
 * process seems to have the same.
 */
#include "common/ceph/cephfs_mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/memory.h"

#define BLOCKED_MAX 64        /* threads of one mount */
#define FAILURE_KEPT_MS 1000  /* a storm of calls makes one attempt, not one each */
#define REFUSAL_KEPT_MS 60000 /* rights change rarely */
#define NUDGES 3              /* per request */
#define FIRST_NUDGE_MS 10     /* each further one after ten times that */
#define NO_MDS_UP 4           /* what ceph_mount() says then; the number of another errno */

enum mount_state { MOUNT_UNDER_WAY, MOUNT_READY, MOUNT_FAILED };

struct cephfs_mount {
    struct cephfs_mount *next;
    struct cephfs_mounts *owner;
    char *fs_name;
    uint64_t name_hash;
    unsigned ordinal; /* of its session's name */
    enum mount_state state;
    bool is_lost; /* the session was ended: nobody joins it any more */
    bool is_told; /* that the user lacks rights */
    unsigned refs;
    unsigned blocked;
    struct ceph_mount_info *handle;
    int failure; /* negative errno */
    int64_t changed_ms;
};

/* --- names of sessions --- */

struct session_name {
    struct session_name *next;
    uint64_t hash;
    unsigned ordinal;
};

struct session_names {
    pthread_mutex_t lock;
    struct session_name *first; /* those in use, and those that are not taken again */
};

struct session_names *session_names_new(void)
{
    struct session_names *names = xcalloc(1, sizeof(*names));

    pthread_mutex_init(&names->lock, NULL);
    return names;
}

void session_names_free(struct session_names *names)
{
    while (names->first) {
        struct session_name *name = names->first;

        names->first = name->next;
        free(name);
    }
    pthread_mutex_destroy(&names->lock);
    free(names);
}

static bool is_name_taken(const struct session_names *names, uint64_t hash, unsigned ordinal)
{
    for (const struct session_name *name = names->first; name; name = name->next)
        if (name->hash == hash && name->ordinal == ordinal)
            return true;
    return false;
}

/* The first ordinal that is free. */
static unsigned take_name(struct session_names *names, uint64_t hash)
{
    struct session_name *name = xcalloc(1, sizeof(*name));

    pthread_mutex_lock(&names->lock);
    *name = (struct session_name){names->first, hash, 0};
    while (is_name_taken(names, hash, name->ordinal))
        name->ordinal++;
    names->first = name;
    const unsigned ordinal = name->ordinal;
    pthread_mutex_unlock(&names->lock);
    return ordinal;
}

static void give_name_back(struct session_names *names, uint64_t hash, unsigned ordinal)
{
    pthread_mutex_lock(&names->lock);
    struct session_name **link = &names->first;
    while (*link && ((*link)->hash != hash || (*link)->ordinal != ordinal))
        link = &(*link)->next;
    struct session_name *name = *link;
    if (name)
        *link = name->next;
    pthread_mutex_unlock(&names->lock);
    free(name);
}

/* --- one attempt --- */

/* Ends the session that a predecessor has left, and takes its name. Without success the mount goes
 * without a name: that is what old metadata servers know. */
static void take_session_over(const struct cephfs_mount *mount, struct ceph_mount_info *handle)
{
    _cleanup_free_ char *name =
        xasprintf("cephzone-%016llx-%u", (unsigned long long)mount->name_hash, mount->ordinal);
    int result = ceph_start_reclaim(handle, name, CEPH_RECLAIM_RESET);

    ceph_finish_reclaim(handle);
    if (result == 0)
        log_info(NULL, "ended the session of a predecessor with file system '%s' of cluster '%s'",
                 mount->fs_name, mount->owner->options.cluster_id);
    if (result == 0 || result == -ENOENT)
        ceph_set_uuid(handle, name);
    else
        log_v(2, NULL, "no name for the session with file system '%s': error %d", mount->fs_name,
              -result);
}

static int prepare_handle(const struct cephfs_mount *mount, struct ceph_mount_info *handle)
{
    static const char *const settings[][2] = {
        {"client_mount_uid", "0"}, /* the driver need not be root; rights are the Ceph user's */
        {"client_mount_gid", "0"},
        {"client_quota", "false"}, /* as the manager: limits are for those who mount volumes */
        {"client_check_pool_perm", "false"}, /* saves a round trip per pool */
        {"client_cache_size", "256"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++)
        ceph_conf_set(handle, settings[i][0], settings[i][1]);
    ceph_set_mount_timeout(handle, (uint32_t)((mount->owner->options.timeout_ms + 999) / 1000));
    int result = ceph_init(handle);
    return result < 0 ? result : ceph_select_filesystem(handle, mount->fs_name);
}

static int mount_filesystem(const struct cephfs_mount *mount, rados_t rados,
                            struct ceph_mount_info **mounted)
{
    struct ceph_mount_info *handle = NULL;
    int result = ceph_create_from_rados(&handle, rados);

    if (result < 0)
        return result;
    result = prepare_handle(mount, handle);
    if (result == 0 && mount->owner->options.instance)
        take_session_over(mount, handle);
    if (result == 0)
        result = ceph_mount(handle, "/");
    if (result != 0) {
        ceph_shutdown(handle);
        return result > 0 ? -result : result;
    }
    *mounted = handle;
    return 0;
}

static void release_mount_errand(struct errand *errand)
{
    free(errand);
}

/* The thread of one attempt. */
static void run_mount_attempt(rados_t rados, struct errand *errand)
{
    struct cephfs_mount *mount = ((struct mount_errand *)errand)->mount;
    struct cephfs_mounts *owner = mount->owner;
    struct ceph_mount_info *handle = NULL;
    const int result = mount_filesystem(mount, rados, &handle);

    if (result == -EPERM || result == -EACCES)
        log_warn(NULL,
                 "client.%s may not mount file system '%s' of cluster '%s' with libcephfs; needed: "
                 "mds 'allow rwps fsname=%s', osd 'allow rw tag cephfs data=%s'",
                 owner->options.user, mount->fs_name, owner->options.cluster_id, mount->fs_name,
                 mount->fs_name);
    pthread_mutex_lock(&owner->lock);
    mount->handle = handle;
    mount->failure = result;
    mount->state = result < 0 ? MOUNT_FAILED : MOUNT_READY;
    mount->changed_ms = clock_monotonic_ms();
    mount->refs--;
    pthread_cond_broadcast(&owner->changed);
    pthread_mutex_unlock(&owner->lock);
}

/* Runs @run in a thread that nobody waits for. Lock held. */
static void start_mount_thread(struct cephfs_mount *mount, void (*run)(rados_t, struct errand *))
{
    const struct mounts_options *options = &mount->owner->options;
    struct mount_errand *errand = xcalloc(1, sizeof(*errand));
    _cleanup_error_ struct error none = {0};

    errand_init(&errand->errand, run, release_mount_errand);
    errand->mount = mount;
    errand->errand.is_left = true;
    errand->errand.is_apart = true;
    if (connections_run(options->connections, options->connection, &errand->errand, &none) < 0)
        abort(); /* never, as it is apart */
}

/* Lock held. */
static void start_mount_attempt(struct cephfs_mount *mount)
{
    mount->state = MOUNT_UNDER_WAY;
    mount->refs++;
    start_mount_thread(mount, run_mount_attempt);
}

/* --- the end --- */

static void free_mount(struct cephfs_mount *mount)
{
    struct cephfs_mounts *owner = mount->owner;

    if (owner->options.instance && !mount->is_lost)
        give_name_back(owner->options.names, mount->name_hash, mount->ordinal);
    free_all(mount->fs_name, mount);
    atomic_fetch_sub(&owner->count, 1);
}

/* The thread that unmounts. */
static void run_unmount(rados_t rados, struct errand *errand)
{
    struct cephfs_mount *mount = ((struct mount_errand *)errand)->mount;

    (void)rados;
    ceph_unmount(mount->handle);
    ceph_release(mount->handle);
    free_mount(mount);
}

/* Unmounts what nobody uses. Lock held. */
static void retire_mount(struct cephfs_mounts *mounts, struct cephfs_mount *mount)
{
    struct cephfs_mount **link = &mounts->first;

    while (*link != mount)
        link = &(*link)->next;
    *link = mount->next;
    if (mount->handle)
        start_mount_thread(mount, run_unmount);
    else
        free_mount(mount);
}

void cephfs_mounts_init(struct cephfs_mounts *mounts, const struct mounts_options *options)
{
    *mounts = (struct cephfs_mounts){.options = *options};
    pthread_mutex_init(&mounts->lock, NULL);
    pthread_cond_init(&mounts->changed, NULL);
}

void cephfs_mounts_done(struct cephfs_mounts *mounts)
{
    pthread_cond_destroy(&mounts->changed);
    pthread_mutex_destroy(&mounts->lock);
}

bool cephfs_mounts_any(const struct cephfs_mounts *mounts)
{
    return atomic_load(&mounts->count) > 0;
}

void cephfs_mounts_retire(struct cephfs_mounts *mounts)
{
    pthread_mutex_lock(&mounts->lock);
    while (mounts->first)
        retire_mount(mounts, mounts->first);
    pthread_mutex_unlock(&mounts->lock);
}

/* --- joining --- */

/* Lock held. */
static struct cephfs_mount *add_mount(struct cephfs_mounts *mounts, const char *fs_name)
{
    const struct mounts_options *options = &mounts->options;
    struct cephfs_mount *mount = xcalloc(1, sizeof(*mount));
    uint64_t hash = HASH_START;

    *mount =
        (struct cephfs_mount){.next = mounts->first, .owner = mounts, .fs_name = xstrdup(fs_name)};
    if (options->instance) {
        hash = hash_field(hash_field(hash, options->instance), options->cluster_id);
        mount->name_hash = hash_field(hash_field(hash, options->user), fs_name);
        mount->ordinal = take_name(options->names, mount->name_hash);
    }
    mounts->first = mount;
    atomic_fetch_add(&mounts->count, 1);
    start_mount_attempt(mount);
    return mount;
}

static bool is_refusal(int negative_errno)
{
    return negative_errno == -EPERM || negative_errno == -EACCES;
}

/* Lock held. */
static struct cephfs_mount *find_or_add_mount(struct cephfs_mounts *mounts, const char *fs_name)
{
    struct cephfs_mount *mount = mounts->first;

    while (mount && (mount->is_lost || strcmp(mount->fs_name, fs_name) != 0))
        mount = mount->next;
    if (!mount)
        return add_mount(mounts, fs_name);
    const int64_t kept_ms = is_refusal(mount->failure) ? REFUSAL_KEPT_MS : FAILURE_KEPT_MS;
    if (mount->state == MOUNT_FAILED && clock_monotonic_ms() - mount->changed_ms > kept_ms)
        start_mount_attempt(mount);
    return mount;
}

static int explain_mount_failure(const struct cephfs_mount *mount, struct error *err)
{
    const char *cluster_id = mount->owner->options.cluster_id;

    if (mount->failure == -NO_MDS_UP)
        return error_set(err, STATUS_UNAVAILABLE,
                         "file system '%s' of cluster '%s' has no active MDS; retry when 'ceph fs "
                         "status' shows one",
                         mount->fs_name, cluster_id);
    return error_set_errno(err, mount->failure,
                           "mount file system '%s' of cluster '%s' as client.%s", mount->fs_name,
                           cluster_id, mount->owner->options.user);
}

/* Waits for the attempt under way. Lock held, given up while waiting. */
static int await_mount(struct cephfs_mount *mount, struct call *call, struct error *err)
{
    struct cephfs_mounts *owner = mount->owner;
    struct deadline give_up = admission_deadline(call);

    call_stage(call, "waiting {age} for the metadata servers of file system '%s' in cluster '%s'",
               mount->fs_name, owner->options.cluster_id);
    while (mount->state == MOUNT_UNDER_WAY) {
        const struct timespec wake = admission_wake_time(give_up);

        if (call_check(call, err) < 0)
            return -1;
        if (deadline_has_passed(give_up))
            return error_set(err, STATUS_DEADLINE_EXCEEDED,
                             "the metadata servers of file system '%s' in cluster '%s' do not "
                             "answer; is an MDS up?",
                             mount->fs_name, owner->options.cluster_id);
        pthread_cond_clockwait(&owner->changed, &owner->lock, CLOCK_MONOTONIC, &wake);
    }
    return mount->state == MOUNT_READY ? 0 : explain_mount_failure(mount, err);
}

int cephfs_mounts_join(struct cephfs_mounts *mounts, struct call *call, const char *fs_name,
                       struct cephfs_mount **joined, struct error *err)
{
    pthread_mutex_lock(&mounts->lock);
    struct cephfs_mount *mount = find_or_add_mount(mounts, fs_name);
    mount->refs++;
    const int result = mount->state == MOUNT_READY ? 0 : await_mount(mount, call, err);
    if (result < 0)
        mount->refs--;
    else
        *joined = mount;
    pthread_mutex_unlock(&mounts->lock);
    return result;
}

/* Lock held. */
static void drop_mount_ref(struct cephfs_mount *mount)
{
    if (--mount->refs == 0 && mount->is_lost)
        retire_mount(mount->owner, mount);
}

void cephfs_mount_leave(struct cephfs_mount *mount)
{
    struct cephfs_mounts *owner = mount->owner;

    pthread_mutex_lock(&owner->lock);
    drop_mount_ref(mount);
    pthread_mutex_unlock(&owner->lock);
}

/* --- requests --- */

/* The thread of a request. */
static void run_request(rados_t rados, struct errand *errand)
{
    struct mount_errand *request = (struct mount_errand *)errand;
    struct cephfs_mount *mount = request->mount;
    struct cephfs_mounts *owner = mount->owner;

    (void)rados;
    request->result = request->ask(mount->handle, request);
    const bool is_lost = request->result == -ESHUTDOWN || request->result == -ENOTCONN;
    pthread_mutex_lock(&owner->lock);
    mount->blocked--;
    if (is_lost && !mount->is_lost)
        log_warn(NULL,
                 "cluster '%s' has ended our session with file system '%s'; the next call makes "
                 "another one",
                 owner->options.cluster_id, mount->fs_name);
    mount->is_lost = mount->is_lost || is_lost;
    drop_mount_ref(mount);
    pthread_mutex_unlock(&owner->lock);
}

static int start_request(struct cephfs_mount *mount, struct mount_errand *request,
                         struct error *err)
{
    struct cephfs_mounts *owner = mount->owner;
    int result = 0;

    pthread_mutex_lock(&owner->lock);
    if (mount->blocked >= BLOCKED_MAX) {
        result = error_set(err, STATUS_UNAVAILABLE,
                           "file system '%s' of cluster '%s' has %u requests under way that are "
                           "not answered; is an MDS up? Retry later",
                           mount->fs_name, owner->options.cluster_id, mount->blocked);
    } else {
        mount->blocked++;
        mount->refs++;
        request->mount = mount;
        result = connections_run(owner->options.connections, owner->options.connection,
                                 &request->errand, err);
        request = NULL;
    }
    pthread_mutex_unlock(&owner->lock);
    if (request)
        errand_free(&request->errand);
    return result;
}

/* Says it once: a user without rights is asked for often. */
static void tell_refusal(struct cephfs_mount *mount, const char *what)
{
    struct cephfs_mounts *owner = mount->owner;

    pthread_mutex_lock(&owner->lock);
    const bool is_told = mount->is_told;
    mount->is_told = true;
    pthread_mutex_unlock(&owner->lock);
    if (!is_told)
        log_warn(NULL,
                 "client.%s may not %s in file system '%s' of cluster '%s'; needed: mds 'allow "
                 "rwps fsname=%s', osd 'allow rw tag cephfs data=%s'",
                 owner->options.user, what, mount->fs_name, owner->options.cluster_id,
                 mount->fs_name, mount->fs_name);
}

/* Whether it ends while it is nudged. */
static bool nudge_request(struct cephfs_mount *mount, const struct mount_errand *request,
                          struct errand *errand, struct deadline give_up)
{
    int64_t pause_ms = FIRST_NUDGE_MS;

    for (int i = 0; i < NUDGES; i++, pause_ms *= 10) {
        const struct deadline limit = deadline_earlier(give_up, deadline_in_ms(pause_ms));
        _cleanup_error_ struct error none = {0};

        if (errand_wait_briefly(errand, limit))
            return true;
        struct mount_errand *nudge = request->make_nudge(request);
        nudge->errand.run = run_request;
        nudge->errand.is_apart = true;
        nudge->errand.is_left = true;
        if (start_request(mount, nudge, &none) < 0)
            return false; /* too many are blocked */
    }
    return false;
}

int cephfs_mount_run(struct cephfs_mount *mount, struct call *call, struct mount_errand *request,
                     int64_t timeout_ms, const char *what, struct error *err)
{
    const char *cluster_id = mount->owner->options.cluster_id;
    const struct deadline give_up =
        deadline_earlier(admission_deadline(call), deadline_in_ms(timeout_ms));

    request->errand.run = run_request;
    request->errand.is_apart = true;
    call_stage(call, "waiting {age} for the metadata servers of file system '%s' in cluster '%s'",
               mount->fs_name, cluster_id);
    if (start_request(mount, request, err) < 0)
        return -1;
    if (!nudge_request(mount, request, &request->errand, give_up) &&
        !errand_wait(&request->errand, call, give_up)) {
        if (call_check(call, err) < 0)
            return -1;
        return error_set(err, STATUS_DEADLINE_EXCEEDED,
                         "%s in file system '%s' of cluster '%s': not answered in time; is an MDS "
                         "up?",
                         what, mount->fs_name, cluster_id);
    }
    if (is_refusal(request->result))
        tell_refusal(mount, what);
    if (request->result >= 0)
        return 0;
    error_set_errno(err, request->result, "%s in file system '%s' of cluster '%s'", what,
                    mount->fs_name, cluster_id);
    errand_free(&request->errand);
    return -1;
}
