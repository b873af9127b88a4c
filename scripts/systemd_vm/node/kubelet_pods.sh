# The static pods of examples/kubelet, by a kubelet and containerd with systemd's driver. There is no API server.
cd /opt/examples/kubelet
for directory in /var/lib/containerd /var/lib/kubelet; do mkdir -p "$directory" && mount -t tmpfs tmpfs "$directory"; done
echo node >/proc/sys/kernel/hostname
echo "127.0.0.1 localhost" >/etc/hosts
: >/etc/resolv.conf
busybox ip address add 192.0.2.1/32 dev lo

# NoPivotRoot: the machine's root is an initramfs, from which nobody can pivot
mkdir -p /etc/containerd
cat >/etc/containerd/config.toml <<'END'
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/busybox:1"
  disable_apparmor = true
  disable_hugetlb_controller = false

[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "native"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  NoPivotRoot = true
  SystemdCgroup = true
END
cat >/run/kubelet.yaml <<'END'
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: /opt/examples/kubelet/pods
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: systemd
failCgroupV1: false
podPidsLimit: 1024
volumePluginDir: /var/lib/kubelet/volumeplugins
resolvConf: ""
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
END
# Debian's containerd.service, with a log
mkdir -p /run/systemd/system/containerd.service.d
printf '[Service]\nStandardOutput=file:/run/containerd.log\nStandardError=file:/run/containerd.log\n' \
  >/run/systemd/system/containerd.service.d/log.conf
systemctl daemon-reload
systemctl start containerd || { tail -n 5 /run/containerd.log >&2; exit 1; }

# an image of busybox
../bundle/unpack /run/image
(
  cd /run/image
  busybox tar -c -f layer.tar -C rootfs .
  cat >image.json <<END
{"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/bin"], "Cmd": ["sleep", "infinity"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum layer.tar | cut -d " " -f 1)"]}}
END
  echo '[{"Config": "image.json", "RepoTags": ["localhost/busybox:1"], "Layers": ["layer.tar"]}]' >manifest.json
  busybox tar -c manifest.json image.json layer.tar | ctr --namespace k8s.io images import --no-unpack - >&2
)
service kubelet -p StandardOutput=file:/run/kubelet.log -p StandardError=file:/run/kubelet.log \
  /opt/bin/kubelet --config /run/kubelet.yaml --node-ip 192.0.2.1
all_run() { [ "$(ctr --namespace k8s.io task ls -q | wc -l)" = 7 ]; } # four containers and three sandboxes
(wait_for all_run) || { tail -n 5 /run/containerd.log /run/kubelet.log >&2; exit 1; }
