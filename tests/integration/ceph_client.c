#include "tests/integration/ceph_client.h"

#include "common/base/memory.h"
#include "tests/integration/harness.h"

int ceph_client_connect(struct ceph *ceph, struct call *call, const char *monitors, const char *key,
                        struct ceph_cluster **cluster, struct error *err)
{
    _cleanup_secret_ struct secret secret = {0};

    secret_set(&secret, key);
    const struct ceph_target target = {"c1", monitors, harness_cluster()->user, &secret};
    return ceph->ops->connect(ceph, call, &target, cluster, err);
}

struct ceph *ceph_client_new(void)
{
    return ceph_new(&(struct ceph_options){
        .connect_timeout_ms = 15000,
        .mon_op_timeout_ms = 30000,
        .osd_op_timeout_ms = 30000,
    });
}

void ceph_client_end(struct ceph *ceph)
{
    wait_until(ceph_free(ceph));
}

void ceph_client_open(struct ceph_client *f)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_error_ struct error err = {0};

    *f = (struct ceph_client){.ceph = ceph_client_new()};
    call_init(&f->call, 1, "Test", deadline_in_ms(240000));
    assert_done(
        ceph_client_connect(f->ceph, &f->call, cluster->monitors, cluster->key, &f->cluster, &err),
        &err);
    assert_done(f->ceph->ops->pool_open(f->cluster, &f->call, POOL, "", &f->pool, &err), &err);
}

void ceph_client_close(struct ceph_client *f)
{
    ceph_pool_close(f->pool);
    ceph_disconnect(f->cluster);
    ceph_client_end(f->ceph);
    call_done(&f->call);
}

void ceph_client_reconnect(struct ceph_client *f)
{
    const struct harness_cluster *cluster = harness_cluster();
    _cleanup_error_ struct error err = {0};

    ceph_pool_close(f->pool);
    ceph_disconnect(f->cluster);
    assert_done(
        ceph_client_connect(f->ceph, &f->call, cluster->monitors, cluster->key, &f->cluster, &err),
        &err);
    assert_done(f->ceph->ops->pool_open(f->cluster, &f->call, POOL, "", &f->pool, &err), &err);
}

void ceph_client_make_image(struct ceph_client *f, const char *name, uint64_t features)
{
    const struct image_options options = {.features = features};
    _cleanup_error_ struct error err = {0};

    assert_done(f->pool->ops->image_create(f->pool, &f->call, name, 16 * MIB, &options, &err),
                &err);
}

void ceph_client_discard_image(struct ceph_client *f, const char *name)
{
    _cleanup_free_ char *id = NULL;
    _cleanup_error_ struct error err = {0};

    assert_done(f->pool->ops->image_get_id(f->pool, &f->call, name, &id, &err), &err);
    assert_done(f->pool->ops->trash_move(f->pool, &f->call, name, &err), &err);
    assert_done(f->pool->ops->trash_remove(f->pool, &f->call, id, NULL, NULL, &err), &err);
}
