#include "controller/fsck/fsck.h"

#include "controller/fsck/fsck_scan.h"

static int scan_cluster(const struct fsck_options *options, struct call *call,
                        const char *cluster_id, struct fsck_report *report, struct error *err)
{
    _cleanup_(scan_done) struct scan scan = {
        .options = options,
        .call = call,
        .report = report,
    };

    scan_read_pvs(&scan);
    if (session_open(options->ceph, options->config, call, cluster_id, options->credentials,
                     &scan.session, err) < 0 ||
        scan_read(&scan, err) < 0 || scan_check_names(&scan, err) < 0 ||
        scan_check_entries(&scan, err) < 0 || scan_check_images(&scan, err) < 0 ||
        scan_check_pvs(&scan, err) < 0)
        return error_wrap(err, "look at cluster '%s'", cluster_id);
    report->clusters++;
    return 0;
}

int fsck_scan(const struct fsck_options *options, struct call *call, struct fsck_report *report,
              struct error *err)
{
    _cleanup_config_ struct config *config = NULL;
    int result = 0;

    if (options->cluster_id)
        result = scan_cluster(options, call, options->cluster_id, report, err);
    else
        result = config_file_get(options->config, &config, err);
    for (size_t i = 0; config && i < config_cluster_count(config) && result == 0; i++)
        result = scan_cluster(options, call, config_cluster_id(config, i), report, err);
    if (options->pvs)
        report->pvs_unchecked = options->pvs->count - report->pvs;
    fsck_report_sort(report);
    return result;
}
