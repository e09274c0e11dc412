#pragma once

#include "common/topology/placement.h"
#include "controller/controller.h"

/*
 * Events on the claim that a volume is made for, in one line each: for whoever asks kubectl why a
 * claim waits, or why its volume is not where it was expected. The claim is named by the extra
 * parameters of csi-provisioner (--extra-create-metadata); without them, or without a Kubernetes,
 * nothing happens. Never waits; see common/kube/events.h for limits. Any thread.
 */

/* Warning VolumeNotPlaced: RESOURCE_EXHAUSTED, with the trace of the decision. Nothing for other
 * failures: csi-provisioner reports those. */
void claim_event_refused(const struct controller *controller, const struct strmap *parameters,
                         const char *volume_name, const struct error *err);

/* Normal VolumePlaced, if pools that would have served were full or are being taken over. */
void claim_event_placed(const struct controller *controller, const struct strmap *parameters,
                        const struct decision *decision);

/* Warning UnknownParameter, and a line in the log, for each parameter that the driver does not know
 * but that is close to one that it does. Others are left alone, as in Ceph-CSI. */
void claim_event_misspelt(const struct controller *controller, struct call *call,
                          const struct strmap *parameters, const char *volume_name);
