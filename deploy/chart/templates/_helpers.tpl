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
  {{- if and (eq .role "node") .root.Values.node.seLinuxType }}
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
