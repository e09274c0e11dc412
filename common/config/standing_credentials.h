#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/base/call.h"
#include "common/base/strmap.h"
#include "common/config/config.h"
#include "common/config/credentials.h"
#include "common/kube/kube_ops.h"

/*
 * The Ceph user of calls that carry no secrets: GetCapacity, ListVolumes, ControllerGetVolume and
 * whatever the driver does by itself. The first of these that can be read is used:
 *
 *   1. the Secret that the class names: csi.storage.k8s.io/provisioner-secret-name and -namespace,
 *      else controller-expand-secret-name and -namespace
 *   2. the Secret that config.json names for the cluster: controllerPublishSecretRef
 *   3. the keyring on disk
 *
 * Secrets are read through the Kubernetes API and cached for a minute, as is the failure to read
 * one; while the API server is unreachable, a cached Secret is used for up to ten minutes. Any
 * thread; at most one request to the API server for each Secret.
 */
struct standing_credentials;

struct standing_credentials_options {
    struct kube *kube;                 /* NULL: no Kubernetes; borrowed, as is the next one */
    struct config_file *config;        /* NULL: names no Secrets */
    const struct credentials *keyring; /* copied; NULL or without user: none */
    bool is_cephfs;                    /* which part of config.json counts */
    int64_t life_ms;                   /* 0: 60000 */
};

struct standing_credentials *
standing_credentials_new(const struct standing_credentials_options *options);
/* NULL is fine. Wipes the cached keys. */
void standing_credentials_free(struct standing_credentials *standing);
DEFINE_CLEANUP(struct standing_credentials, standing_credentials_free)

/* Whether there is a user for calls that name no class: a keyring, or a Secret in config.json and a
 * Kubernetes to read it from. @standing may be NULL, here and below. No I/O but a stat(). */
bool standing_credentials_exist(struct standing_credentials *standing);

/*
 * @class is the parameters of the class, NULL where the call has none. @credentials is empty;
 * credentials_done() frees. FAILED_PRECONDITION, saying what was tried and what would help, if
 * there are none; UNAVAILABLE or DEADLINE_EXCEEDED if there may be some, but the API server does
 * not answer.
 */
_must_check_ int standing_credentials_get(struct standing_credentials *standing, struct call *call,
                                          const char *cluster_id, const struct strmap *class,
                                          struct credentials *credentials, struct error *err);

/* The user of one Secret, through the same cache. @standing must have a Kubernetes. Errors name
 * the Secret. */
_must_check_ int standing_credentials_of_secret(struct standing_credentials *standing,
                                                struct call *call, const struct secret_ref *secret,
                                                struct credentials *credentials, struct error *err);
