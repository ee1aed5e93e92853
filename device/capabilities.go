package device

// Capabilities lists the features that kernels can use. The zero value is a device without
// any: the CPU, or a GPU that the table does not contain.
type Capabilities struct {
	SM         int  // 90 for compute capability 9.0
	TensorCore bool // any tensor core
	FP16       bool // float16 on tensor cores
	TF32       bool
	BF16       bool
	FP64       bool // float64 on tensor cores, at a useful rate
	FP8        bool
	AsyncCopy  bool // cp.async from global to shared memory
	TMA        bool // tensor memory accelerator
	WGMMA      bool // wgmma: only SM 90
	TCGen05    bool // tcgen05: SM 100 and 103
	Clusters   bool // thread block clusters

	SharedMemoryPerBlock int64 // bytes a block can opt in to
	MultiProcessors      int   // 0 in the table: reported by the driver
	L2Bytes              int64 // 0 in the table
}

// CapabilitiesOf returns the table's row for a compute capability (90 is 9.0). For an
// unknown one it returns the zero value.
func CapabilitiesOf(sm int) Capabilities {
	// Shared memory: "Technical specifications per compute capability" of the CUDA
	// programming guide, minus the 1 KiB that the system reserves from SM 80 on.
	kib := map[int]int64{
		70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227,
		100: 227, 103: 227, 120: 99, 121: 99,
	}
	shared, known := kib[sm]
	if !known {
		return Capabilities{}
	}
	return Capabilities{
		SM:         sm,
		TensorCore: true,
		FP16:       true,
		TF32:       sm >= 80,
		BF16:       sm >= 80,
		FP64:       sm == 80 || sm == 90 || sm == 100,
		FP8:        sm >= 89,
		AsyncCopy:  sm >= 80,
		TMA:        sm >= 90,
		WGMMA:      sm == 90, // not in later ones, which have tcgen05 or only mma.sync
		TCGen05:    sm == 100 || sm == 103,
		Clusters:   sm >= 90,

		SharedMemoryPerBlock: shared << 10,
	}
}

// capabilities returns the table's row with the values that the driver reports.
func (i Info) capabilities() Capabilities {
	c := CapabilitiesOf(i.SM)
	if c.SM == 0 {
		return c
	}
	c.MultiProcessors, c.L2Bytes = i.MultiProcessors, i.L2Bytes
	if i.SharedMemoryPerBlock > 0 {
		c.SharedMemoryPerBlock = i.SharedMemoryPerBlock
	}
	c.Clusters = c.Clusters && i.ClusterLaunch
	c.TMA = c.TMA && i.TensorMaps
	return c
}
