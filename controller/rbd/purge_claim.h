#pragma once

#include "controller/controller.h"

/*
 * librbd aborts the process when two clients remove the same image at once. So whoever begins says
 * so in the directory, by a key of PURGE_CLAIM_KEY; later on the open image keeps others out.
 */
struct purge_claim {
    const struct controller *controller;
    struct ceph_pool *directory;
    const char *object; /* the directory's */
    char *key;
    char *value; /* "PROCESS MILLISECONDS" */
};

/* @purge_key is the key of the image; it and all else is borrowed. */
void purge_claim_init(struct purge_claim *claim, const struct controller *controller,
                      struct ceph_pool *directory, const char *object, const char *purge_key);
void purge_claim_done(struct purge_claim *claim);
#define _cleanup_purge_claim_ _cleanup_(purge_claim_done)

/* *@mine is false while another process begins to remove the image. */
_must_check_ int purge_claim_take(struct purge_claim *claim, struct call *call, bool *mine,
                                  struct error *err);
_must_check_ int purge_claim_release(struct purge_claim *claim, struct call *call,
                                     struct error *err);

/* For others than the driver: whether a process says so of the image, and may be alive. 1 RT. */
_must_check_ int purge_claim_is_fresh(struct ceph_pool *directory, struct call *call,
                                      const char *object, const char *purge_key, bool *is_fresh,
                                      struct error *err);
