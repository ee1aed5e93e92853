// Package quantum simulates parameterised circuits on many samples at once and
// computes fidelity kernels of them: K[i][j] = |<psi(x_i)|psi(y_j)>|^2.
//
//	c := quantum.ZZFeatureMap(8, 2)
//	r, err := quantum.Gram(ctx, c, x, nil, quantum.Options{})  // x [n, 8], r.K [n, n]
//	test, err := quantum.Gram(ctx, c, y, x, quantum.Options{}) // [m, n], for prediction
//
// A Circuit is a list of gates whose angles are polynomials of a sample's
// features. Wire 0 is the most significant bit of an amplitude's index. A
// mistake in a gate is kept: Err, States and Gram return it, with the gate and
// the program's line.
//
// Gates follow the usual definitions: RX, RY, RZ(t) = exp(-i t/2 X, Y, Z),
// P(t) = diag(1, e^it), RZZ(t) = exp(-i t/2 Z Z), S = P(pi/2), T = P(pi/4), SX
// the square root of X with SX SX = X exactly.
//
// Before anything runs, the circuit is compiled: gates merge, what cannot
// change a kernel is left out, and qubits that nothing connects are treated
// apart, down to a closed form for circuits without entanglement. Each rule has
// its proof beside it (rules.go, tail.go, blocks.go, wire.go) and a test against the
// circuit as it was written.
//
// What belongs here: circuits, their compilation, states, Gram matrices and
// what is done to those (Normalize, Center). What does not: kernel machines.
package quantum
