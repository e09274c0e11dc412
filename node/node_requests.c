/* Freeing of what volumes.h declares. */
#include <stdlib.h>

#include "node/volumes.h"

void stage_request_done(struct stage_request *request)
{
    free(request->handle);
    free(request->staging_path);
    volume_capability_done(&request->capability);
    strmap_done(&request->context);
    credentials_done(&request->credentials);
}

void unstage_request_done(struct unstage_request *request)
{
    free(request->handle);
    free(request->staging_path);
}

void publish_request_done(struct publish_request *request)
{
    free(request->handle);
    free(request->staging_path);
    free(request->target_path);
    volume_capability_done(&request->capability);
    strmap_done(&request->context);
    credentials_done(&request->credentials);
}

void unpublish_request_done(struct unpublish_request *request)
{
    free(request->handle);
    free(request->target_path);
}

void stats_request_done(struct stats_request *request)
{
    free(request->handle);
    free(request->volume_path);
    free(request->staging_path);
}

void node_expand_request_done(struct node_expand_request *request)
{
    free(request->handle);
    free(request->volume_path);
    free(request->staging_path);
    volume_capability_done(&request->capability);
    credentials_done(&request->credentials);
}

void volume_stats_done(struct volume_stats *stats)
{
    free(stats->message);
    *stats = (struct volume_stats){0};
}
