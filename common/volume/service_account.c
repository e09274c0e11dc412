#include "common/volume/service_account.h"

#include <string.h>

#include "common/base/log.h"
#include "common/base/memory.h"
#include "common/base/text.h"
#include "common/ceph/on_disk.h"

#define PUBLISHED_ACCOUNTS "serviceAccount"                   /* key of the publish context */
#define POD_ACCOUNT METADATA_KUBERNETES "serviceAccount.name" /* of the volume context */

void service_account_hand_on(bool is_cephfs, const struct strmap *metadata,
                             struct strmap *publish_context)
{
    const char *names =
        strmap_get(metadata, is_cephfs ? METADATA_CEPHFS_ACCOUNT : METADATA_RBD_ACCOUNT);

    if (names)
        strmap_set(publish_context, PUBLISHED_ACCOUNTS, names);
}

/* Whether @name is in the list. Blanks around names do not count: people write them. */
static bool has_name(const char *names, const char *name)
{
    _cleanup_free_ char *copy = xstrdup(names);
    char *rest = copy;
    char *part = NULL;

    while ((part = strsep(&rest, ","))) {
        part += strspn(part, " \t");
        for (size_t length = strlen(part); length > 0 && strchr(" \t", part[length - 1]); length--)
            part[length - 1] = '\0';
        if (strcmp(part, name) == 0)
            return true;
    }
    return false;
}

int service_account_check(struct call *call, const struct strmap *publish_context,
                          const struct strmap *volume_context, struct error *err)
{
    const char *names = strmap_get(publish_context, PUBLISHED_ACCOUNTS);
    const char *name = strmap_get_or(volume_context, POD_ACCOUNT, NULL);

    if (!names)
        return 0;
    if (!name) {
        log_warn(call,
                 "the volume is for ServiceAccount '%s' only, but that of the pod is not "
                 "told: the CSIDriver needs podInfoOnMount: true",
                 names);
        return 0;
    }
    if (has_name(names, name))
        return 0;
    error_set(err, STATUS_PERMISSION_DENIED,
              "the volume is for ServiceAccount '%s', and the pod runs as '%s'", names, name);
    return error_hint(err,
                      "an administrator of Ceph may change that: metadata '" METADATA_RBD_ACCOUNT
                      "' of the image, '" METADATA_CEPHFS_ACCOUNT "' of the subvolume");
}
