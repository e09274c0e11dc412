#pragma once

/*
 * The takeover map in a ConfigMap: key takeover.json of TAKEOVER_CONFIGMAP in the driver's
 * namespace (TAKEOVER_IN_CONFIGMAP in takeover_kinds.h). A thread of its own polls it every few
 * seconds, because deployments grant the right to get it, not to watch it. While it is broken, or
 * after it was deleted, the last good map stays in force. As long as it was neither read nor seen
 * to be absent, the map is unknown.
 */
#define TAKEOVER_CONFIGMAP "cephzone-takeover"
#define TAKEOVER_CONFIGMAP_KEY "takeover.json"
