{{- define "cephzone.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* Labels of everything; call with (dict "root" $ "type" "rbd" "role" "controller"). */ -}}
{{- define "cephzone.selector" -}}
app.kubernetes.io/name: cephzone
app.kubernetes.io/component: {{ .role }}
cephzone/driver: {{ .type }}
{{- end }}

{{- /* A sidecar: no privilege at all. */ -}}
{{- define "cephzone.unprivileged" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
  {{- if and (ne .role "controller") .root.Values.node.seLinuxType }}
  seLinuxOptions: {type: {{ .root.Values.node.seLinuxType }}}
  {{- end }}
{{- end }}

{{- define "cephzone.leader" -}}
- --leader-election=true
- --leader-election-namespace=$(NAMESPACE)
- --leader-election-lease-duration=137s
- --leader-election-renew-deadline=107s
- --leader-election-retry-period=26s
{{- end }}

{{- define "cephzone.namespaceEnv" -}}
- name: NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
{{- end }}

{{- /* The container that watches the driver and serves its metrics. */ -}}
{{- define "cephzone.liveness" -}}
- name: liveness
  image: {{ include "cephzone.image" .root }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  args:
    - --type=liveness
    - --endpoint=unix:///csi/csi.sock
    - --metricsport={{ .driver.metricsPort }}
    - --metricspath=/metrics
    - --polltime=10s
    - --timeout=3s
  env:
    - name: POD_IP
      valueFrom: {fieldRef: {fieldPath: status.podIP}}
  ports:
    - {name: metrics, containerPort: {{ .driver.metricsPort }}}
  {{- include "cephzone.unprivileged" . | nindent 2 }}
  resources: {{- toYaml .root.Values.sidecars.resources | nindent 4 }}
  volumeMounts:
    - {name: socket, mountPath: /csi}
{{- end }}

{{- /* The driver is asked through its neighbour, who asks Probe: that is OK as long as the process
serves, also without Ceph. */ -}}
{{- define "cephzone.probe" -}}
livenessProbe:
  httpGet: {path: /healthz, port: {{ .driver.metricsPort }}}
  initialDelaySeconds: 30
  periodSeconds: 30
  timeoutSeconds: 5
  failureThreshold: 5
{{- end }}

{{- /* Where csi-addons' own controller reaches the sidecar of a controller. */ -}}
{{- define "cephzone.addonsPort" -}}
{{ if eq . "rbd" }}9070{{ else }}9080{{ end }}
{{- end }}

{{- /* The sidecar of csi-addons; call with (dict "context" $context "port" "9070"). */ -}}
{{- define "cephzone.addons" -}}
- name: csi-addons
  image: {{ .context.root.Values.csiAddons.image }}
  args:
    - --csi-addons-address=unix:///csi/csi-addons.sock
    - --controller-port={{ .port }}
    - --node-id=$(NODE_ID)
    - --pod=$(POD_NAME)
    - --pod-uid=$(POD_UID)
    - --namespace=$(NAMESPACE)
    - --v={{ .context.root.Values.logLevel }}
    {{- if eq .context.role "controller" }}
    - --leader-election-namespace=$(NAMESPACE)
    - --leader-election-lease-duration=137s
    - --leader-election-renew-deadline=107s
    - --leader-election-retry-period=26s
    {{- end }}
  env:
    {{- include "cephzone.namespaceEnv" .context.root | nindent 4 }}
    - name: NODE_ID
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    - name: POD_NAME
      valueFrom: {fieldRef: {fieldPath: metadata.name}}
    - name: POD_UID
      valueFrom: {fieldRef: {fieldPath: metadata.uid}}
  ports:
    - {name: csi-addons, containerPort: {{ .port }}}
  {{- include "cephzone.unprivileged" .context | nindent 2 }}
  resources: {{- toYaml .context.root.Values.sidecars.resources | nindent 4 }}
  volumeMounts:
    - {name: socket, mountPath: /csi}
{{- end }}

{{- /* What the sidecar may do in its own namespace. */ -}}
{{- define "cephzone.addonsRules" -}}
- apiGroups: [csiaddons.openshift.io]
  resources: [csiaddonsnodes]
  # get list watch create update delete: it tells csi-addons where it is
  verbs: [get, list, watch, create, update, delete]
- apiGroups: [""]
  resources: [pods]
  # get: whose pod it is in, so that what it makes goes with that
  verbs: [get]
- apiGroups: [apps]
  resources: [replicasets]
  # get: the same
  verbs: [get]
- apiGroups: [apps]
  resources: [deployments/finalizers, daemonsets/finalizers]
  # update: the API asks for it from those who set an owner
  verbs: [update]
{{- end }}
