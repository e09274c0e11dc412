#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/kube/kube_ops.h"

/*
 * Whether Nodes and CSINodes have changed in a way that matters to takeovers, so that they need not
 * be listed to find out: a watch of each, and of all that they have only what a plan is made of.
 * What is done is always planned on a list of its own, for a watch may be late. Any thread.
 */
struct node_watch;

/* @kube is borrowed. Returns at once. */
struct node_watch *node_watch_new(struct kube *kube, const char *driver);
/* NULL is fine. */
void node_watch_free(struct node_watch *watch);

/* How often they have changed. False while that is not known, because something has not been read
 * yet or cannot be read now. */
bool node_watch_read(struct node_watch *watch, uint64_t *changes);
