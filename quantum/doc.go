// Package quantum simulates parameterised circuits on many samples at once and
// computes fidelity kernels of them: K[i][j] = |<psi(x_i)|psi(y_j)>|^2.
//
//	c := quantum.ZZFeatureMap(8, 2)
//	r, err := quantum.Gram(ctx, c, x, nil, quantum.Options{})  // x [n, 8], r.K [n, n]
//	test, err := quantum.Gram(ctx, c, y, x, quantum.Options{}) // [m, n], for prediction
//
// A Circuit is a list of gates whose angles are polynomials of a sample's features. Wire 0
// is the most significant bit of an amplitude's index. An error in a gate is stored: Err,
// States and Gram return it, with the gate and the program's line.
//
// Gates follow the usual definitions: RX, RY, RZ(t) = exp(-i t/2 X, Y, Z),
// P(t) = diag(1, e^it), RZZ(t) = exp(-i t/2 Z Z), S = P(pi/2), T = P(pi/4), SX
// the square root of X with SX SX = X exactly.
//
// Before anything runs, the circuit is compiled: gates are merged, gates that cannot change
// a kernel are removed, and groups of qubits without a connection are treated separately,
// down to a closed form for circuits without entanglement. Each rule has its proof beside
// it (rules.go, tail.go, blocks.go, wire.go) and a test against the original circuit.
//
// The package contains circuits, their compilation, states, Gram matrices and operations on
// these (Normalize, Center). It does not contain kernel machines.
package quantum
