#pragma once

#include "common/scheduling/binding_options.h"
#include "common/scheduling/cluster_objects.h"

/*
 * A cluster in a few words, one object per line, for tests that need many small clusters. Goes
 * through the real decoder. A malformed line fails the test.
 *
 *   node n1 zone=a [unschedulable] [notready] [taint=key:value:effect]
 *   class fast mode=wait|immediate|unset provisioner=P allowed=zone:a,b+rack:r1|zone:c
 *   pv pv1 class=fast size=10Gi affinity=zone:a phase=Available modes=RWO mode=Block
 *      claim=ns/name[/uid] labels=k:v,k:v attributes=gold driver=d handle=h version=1 [deleted]
 *      in-tree=gce-pd:disk
 *   pvc c1 ns=default class=fast size=5Gi modes=RWO volume=pv1 [bound] selected=n1 phase=Lost
 *      selector=k:v [deleted] owner=UID
 *   driver d [capacity] [required]
 *   csinode n1 d:LIMIT:key,key ... migrated=kubernetes.io/gce-pd,...
 *   capacity cap1 class=fast size=10Gi max=5Gi topology=zone:a|*
 *   pod p claims=c1,c2 ephemeral=vol inline=driver on=n1 selector=k:v affinity=... phase=
 *       prefer=5@zone:a;3@zone:b tolerate=key:value:effect in-tree=aws-ebs:disk
 *   attachment a1 attacher=d on=n1 pv=pv1
 *   json {...}
 *
 * Selectors: terms apart by '|', requirements by '+': key:a,b (In), key!a,b (NotIn), key? (Exists),
 * !key (DoesNotExist), key>5, key<5, key~Op:a (any operator), @name:n1 (matchFields); {} is an
 * empty term, '' an empty value. Defaults: sizes 1Gi, volumes Available, namespace default, mode
 * ReadWriteOnce, version 1, uid = kind and name.
 */

/* The object of one line; *@kind says what it is. Caller frees with kube_object_free(). */
void *cluster_script_object(const char *line, enum kube_kind *kind);
/* Puts the objects of all lines; those that are empty or begin with '#' are skipped. */
void cluster_script(struct cluster_objects *cluster, const char *text);
/* Whether the line begins with the name of an object. */
bool cluster_script_is_object(const char *line);

/* The rules of the newest Kubernetes version that is known. */
struct binding_options newest_binding_options(void);
