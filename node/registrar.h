#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/metrics.h"
#include "node/node_info.h"

/*
 * Registers the driver with kubelet (pluginregistration v1), so that no node-driver-registrar is
 * needed: a socket DRIVER-reg.sock in the folder that kubelet watches, put there at once by a
 * rename.
 *
 * When NodeGetInfo's answer has changed (labels became known; the takeover map, with takeover_via
 * nodeinfo) a new socket takes the place of the old one, which makes kubelet register the driver
 * again and ask again. That takes kubelet a second or three, in which it mounts nothing of ours.
 *
 * Two registrars for one driver do not get along: kubelet deregisters by name. While another
 * process answers for the driver in that folder, nothing is put there, and the report says so; it
 * is looked for again and again, as is our own socket, which comes back if somebody removed it.
 *
 * A thread of its own. Everything here: any thread.
 */
struct registrar;

struct registrar_options {
    const char *folder;      /* KUBELET/plugins_registry; all strings are copied */
    const char *driver_name; /* as in GetPluginInfo */
    const char *endpoint;    /* path of the CSI socket as the host sees it */
    struct node_info *info;  /* borrowed until registrar_free() */
};

/* Fails with INVALID_ARGUMENT if the names make no sense. Does nothing yet. */
_must_check_ int registrar_new(const struct registrar_options *options,
                               struct registrar **registrar, struct error *err);
/* When the CSI socket is being served. */
void registrar_start(struct registrar *registrar);
/* Takes the socket away, by which kubelet deregisters the driver. Once; metrics may be read on. */
void registrar_stop(struct registrar *registrar);
/* Stops if that was not done. NULL is fine. */
void registrar_free(struct registrar *registrar);
DEFINE_CLEANUP(struct registrar, registrar_free)

/* For the health report: false, with the reason in @message (caller frees, "" if healthy), when
 * kubelet cannot know the driver through us. */
bool registrar_is_healthy(struct registrar *registrar, char **message, time_t *since);

/* Before registrar_start(): csi_registrations_total, csi_registration_refusals_total and the gauge
 * csi_registered. */
void registrar_register(struct registrar *registrar, struct metrics *metrics);
