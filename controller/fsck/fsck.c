#include "controller/fsck/fsck.h"

#include <string.h>

#include "controller/fsck/fsck_look.h"

static int look_at_cluster(const struct fsck_options *options, struct call *call,
                           const char *cluster_id, struct fsck_report *report, struct error *err)
{
    _cleanup_(look_done) struct look look = {
        .options = options,
        .call = call,
        .report = report,
    };

    if (session_open(options->ceph, options->config, call, cluster_id, options->credentials,
                     &look.session, err) < 0)
        return -1;
    look_read_pvs(&look);
    if (look_read(&look, err) < 0 || look_check_names(&look, err) < 0 ||
        look_check_entries(&look, err) < 0 || look_check_images(&look, err) < 0 ||
        look_check_pvs(&look, err) < 0)
        return -1;
    report->clusters++;
    return 0;
}

static int look_at_all(const struct fsck_options *options, struct call *call,
                       struct fsck_report *report, struct error *err)
{
    _cleanup_config_ struct config *config = NULL;

    if (config_file_get(options->config, &config, err) < 0)
        return -1;
    for (size_t i = 0; i < config_cluster_count(config); i++) {
        const char *id = config_cluster_id(config, i);

        if (look_at_cluster(options, call, id, report, err) < 0)
            return error_wrap(err, "look at cluster '%s'", id);
    }
    return 0;
}

int fsck_look(const struct fsck_options *options, struct call *call, struct fsck_report *report,
              struct error *err)
{
    int result = 0;

    if (!options->cluster_id)
        result = look_at_all(options, call, report, err);
    else if (look_at_cluster(options, call, options->cluster_id, report, err) < 0)
        result = error_wrap(err, "look at cluster '%s'", options->cluster_id);
    if (options->pvs)
        report->pvs_unchecked = options->pvs->count - report->pvs;
    report_sort(report);
    return result;
}
