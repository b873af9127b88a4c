"""The fields of KubeletConfiguration v1beta1, up to 1.36: known ones, and those not acted on yet."""

from __future__ import annotations

KNOWN_FIELDS = frozenset(
    """
    apiVersion kind metadata
    address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot cgroupsPerQOS clusterDNS
    clusterDomain configMapAndSecretChangeDetectionStrategy containerLogMaxFiles containerLogMaxSize
    containerLogMaxWorkers containerLogMonitorInterval containerRuntimeEndpoint contentType cpuCFSQuota
    cpuCFSQuotaPeriod cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod crashLoopBackOff
    enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler enableDebuggingHandlers
    enableProfilingHandler enableServer enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable eventBurst
    eventRecordQPS evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim evictionPressureTransitionPeriod
    evictionSoft evictionSoftGracePeriod failCgroupV1 failSwapOn featureGates fileCheckFrequency hairpinMode
    healthzBindAddress healthzPort httpCheckFrequency imageGCHighThresholdPercent imageGCLowThresholdPercent
    imageMaximumGCAge imageMinimumGCAge imagePullCredentialsVerificationPolicy imagePullCredentialsDiscovery
    imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit kernelMemcgNotification kubeAPIBurst kubeAPIQPS
    kubeletCgroups kubeReserved kubeReservedCgroup localStorageCapacityIsolation logging makeIPTablesUtilChains
    maxOpenFiles maxParallelImagePulls maxPods memoryManagerPolicy memoryReservationPolicy memorySwap
    memoryThrottlingFactor mergeDefaultEvictionSettings nodeLeaseDurationSeconds nodeStatusMaxImages
    nodeStatusReportFrequency nodeStatusUpdateFrequency oomScoreAdj podCIDR podLogsDir podPidsLimit podsPerCore port
    preloadedImagesVerificationAllowlist protectKernelDefaults providerID qosReserved readOnlyPort
    registerNode registerWithTaints registryBurst registryPullQPS reservedMemory reservedSystemCPUs resolvConf
    rotateCertificates runOnce runtimeRequestTimeout seccompDefault serializeImagePulls serverTLSBootstrap
    showHiddenMetricsForVersion shutdownGracePeriod shutdownGracePeriodByPodPriority shutdownGracePeriodCriticalPods
    singleProcessOOMKill staticPodPath staticPodURL staticPodURLHeader streamingConnectionIdleTimeout syncFrequency
    systemCgroups systemReserved systemReservedCgroup tlsCertFile tlsCipherSuites tlsCurvePreferences tlsMinVersion
    tlsPrivateKeyFile topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope tracing userNamespaces
    volumePluginDir volumeStatsAggPeriod
    """.split()
)

# memoryThrottlingFactor and memoryReservationPolicy do nothing without the gate MemoryQoS, which is warned of itself.
# field -> (values without an effect on cgroups, what a kubelet would do)
NOT_ACTED_ON: dict[str, tuple[tuple[object, ...], str]] = {
    "cpuManagerPolicy": (("", "none"), "a kubelet pins containers to CPUs through cpuset"),
    "memoryManagerPolicy": (("", "None"), "a kubelet pins containers to NUMA nodes through cpuset"),
    "memorySwap": (({}, {"swapBehavior": ""}, {"swapBehavior": "NoSwap"}), "a kubelet writes memory.swap.max"),
    "singleProcessOOMKill": ((), "a kubelet writes memory.oom.group for containers on cgroup v2"),
    "reservedSystemCPUs": (("",), "a kubelet keeps these CPUs from its CPU manager and reserves them"),
    "kubeletCgroups": (("",), "a kubelet moves itself there"),
    "systemCgroups": (("",), "a kubelet moves the other processes of the root there"),
}
