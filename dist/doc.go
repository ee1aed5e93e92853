// Package dist runs one program on several ranks: goroutines, processes, GPUs, machines.
//
//	g, err := dist.Join(ctx)            // the ranks that torchrun, mpirun, srun or Kubernetes started
//	g, err := dist.Local(cpu, cpu)      // or two ranks in this process
//	defer g.Close()
//	err = g.Run(ctx, func(ctx context.Context, c *dist.Comm) error {
//		total := c.AllReduce(x, dist.Sum)    // the sum of every rank's x
//		…
//	})
//
// Each rank has a Comm, and all ranks call the same functions in the same order. Results are
// arrays; they carry an error of any rank, a RankError that names the rank.
//
// An engine moves the data: NCCL if all ranks have a GPU of their own and the library, which only
// programs built with cgo can open; else MPI if an MPI launcher started the ranks; else memory (Local)
// or TCP through rank 0. Explain says which, and why. Except with NCCL, reductions add in the order of
// the ranks, so the same program gives the same bits on every run and with every engine.
//
// Besides the engine, every rank of Join has a TCP connection to rank 0. The ranks coordinate over it,
// and it detects a rank that has died or is stopped (within five seconds, unless Silence sets
// another time). Every other rank then gets a RankError, in its arrays and from Run.
//
// What belongs here: ranks, launchers' environments, collectives, engines. What does not:
// algorithms for moving data, which the engines have. docs/cluster.md shows the launchers.
package dist
