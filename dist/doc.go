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
// A rank has a Comm, and calls the same functions in the same order as all others. Results are
// arrays; an error of any rank travels in them, and names the rank (RankError).
//
// Data moves by an engine: MPI where mpirun started the ranks, else memory (Local) or TCP through
// rank 0. Explain says which, and why. Reductions add in the order of the ranks, so the same
// program gives the same bits on every run and with every engine.
//
// Beside the engine there is a TCP connection of every rank to rank 0, on which the ranks agree
// and which finds a rank that has died or is stopped (within five seconds, unless Silence says
// otherwise). Every other rank then gets a RankError, in its arrays and from Run.
//
// What belongs here: ranks, launchers' environments, collectives, engines. What does not:
// algorithms of collectives, which are the engines'. docs/cluster.md shows the launchers.
package dist
