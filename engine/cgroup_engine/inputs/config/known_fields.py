"""The fields of KubeletConfiguration v1beta1 (staging ``k8s.io/kubelet/config/v1beta1/types.go``), 1.24 to 1.37."""

from __future__ import annotations

from cgroup_engine.model.kubelet_version import OLDEST

_SINCE: dict[int, str] = {
    OLDEST: """
        apiVersion kind metadata
        address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS clusterDNS
        clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize contentType
        cpuCFSQuota cpuCFSQuotaPeriod cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod
        enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
        enableProfilingHandler enableServer enableSystemLogHandler enforceNodeAllocatable eventBurst eventRecordQPS
        evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim evictionPressureTransitionPeriod evictionSoft
        evictionSoftGracePeriod failSwapOn featureGates fileCheckFrequency hairpinMode healthzBindAddress
        healthzPort httpCheckFrequency imageGCHighThresholdPercent imageGCLowThresholdPercent imageMinimumGCAge
        iptablesDropBit iptablesMasqueradeBit kernelMemcgNotification kubeAPIBurst kubeAPIQPS kubeletCgroups
        kubeReserved kubeReservedCgroup logging makeIPTablesUtilChains maxOpenFiles maxPods memoryManagerPolicy
        memorySwap memoryThrottlingFactor nodeLeaseDurationSeconds nodeStatusMaxImages nodeStatusReportFrequency
        nodeStatusUpdateFrequency oomScoreAdj podCIDR podPidsLimit podsPerCore port protectKernelDefaults providerID
        qosReserved readOnlyPort registerNode registerWithTaints registryBurst registryPullQPS reservedMemory
        reservedSystemCPUs resolvConf rotateCertificates runOnce runtimeRequestTimeout seccompDefault
        serializeImagePulls serverTLSBootstrap showHiddenMetricsForVersion shutdownGracePeriod
        shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods staticPodPath staticPodURL
        staticPodURLHeader streamingConnectionIdleTimeout syncFrequency systemCgroups systemReserved
        systemReservedCgroup tlsCertFile tlsCipherSuites tlsMinVersion tlsPrivateKeyFile topologyManagerPolicy
        topologyManagerScope volumePluginDir volumeStatsAggPeriod
        """,
    25: "localStorageCapacityIsolation tracing",
    26: "topologyManagerPolicyOptions",
    27: "containerRuntimeEndpoint enableSystemLogQuery imageServiceEndpoint maxParallelImagePulls",
    29: "imageMaximumGCAge",
    30: "containerLogMaxWorkers containerLogMonitorInterval podLogsDir",
    31: "failCgroupV1",
    32: "crashLoopBackOff singleProcessOOMKill",
    33: (
        "imagePullCredentialsVerificationPolicy mergeDefaultEvictionSettings preloadedImagesVerificationAllowlist "
        "userNamespaces"
    ),
    36: "memoryReservationPolicy tlsCurvePreferences",
    37: "defaultPodSysctls",
}

# field -> the release 1.N that brought it, or the oldest one known here; no release has removed one
FIELD_SINCE: dict[str, int] = {name: minor for minor, names in _SINCE.items() for name in names.split()}

# field -> (its value that a state file belongs to, what a kubelet does with it)
NEEDS_STATE: dict[str, tuple[str, str]] = {
    "cpuManagerPolicy": ("static", "a kubelet pins containers to CPUs through cpuset"),
    "memoryManagerPolicy": ("Static", "a kubelet pins containers to NUMA nodes through cpuset"),
}
