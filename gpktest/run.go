package gpktest

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/device"
)

var fixedSeed = flag.Uint64("gpktest.seed", 0, "the seed of every test, to repeat one that failed; 0: a new one for each")

// suite is the environment of a conformance test.
type suite struct {
	dev *device.Device
	rng *rand.Rand
}

// Run tests gpk on dev, which is the default device while Run runs. Inputs are drawn with
// a seed that is printed.
func Run(t *testing.T, dev *device.Device) {
	if err := dev.Err(); err != nil {
		t.Fatal(err)
	}
	old := device.SetDefault(dev)
	defer device.SetDefault(old)
	for _, c := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"Transfer", testTransfer},
		{"Construct", testConstruct},
		{"Views", testViews},
		{"Fills", testFills},
		{"Elementwise", testElementwise},
		{"Cast", testCast},
		{"Integers", testIntegers},
		{"Halves", testHalves},
		{"Smooth", testSmooth},
		{"Functions", testFunctions},
		{"LongSmooth", testLongSmooth},
		{"Limits", testLimits},
		{"VarianceRounding", testVarianceRounding},
		{"Sum", testSum},
		{"Ternary", testTernary},
		{"Reductions", testReductions},
		{"Lines", testLines},
		{"LongSums", testLongSums},
		{"Ranks", testRanks},
		{"Attention", testAttention},
		{"AttentionBits", testAttentionBits},
		{"AttentionLong", testAttentionLong},
		{"AttentionTwin", testAttentionTwin},
		{"AttentionGraph", testAttentionGraph},
		{"AttentionRows", testAttentionRows},
		{"AttentionErrors", testAttentionErrors},
		{"RoPE", testRoPE},
		{"RoPEForms", testRoPEForms},
		{"RoPEErrors", testRoPEErrors},
		{"Gated", testGated},
		{"NormResidual", testNormResidual},
		{"EmbeddingNorm", testEmbeddingNorm},
		{"RaggedPool", testRaggedPool},
		{"OffsetsOnce", testOffsetsOnce},
		{"Concat", testConcat},
		{"Take", testTake},
		{"Moves", testMoves},
		{"Order", testOrder},
		{"Shapes", testShapes},
		{"At", testAt},
		{"Index", testIndex},
		{"Select", testSelect},
		{"Masked", testMasked},
		{"Masks", testMasks},
		{"Distinct", testDistinct},
		{"Members", testMembers},
		{"Running", testRunning},
		{"Scans", testScans},
		{"Borders", testBorders},
		{"Ranked", testRanked},
		{"Counts", testCounts},
		{"KeepDims", testKeepDims},
		{"Statistics", testStatistics},
		{"Einsum", testEinsum},
		{"EinsumErrors", testEinsumErrors},
		{"PairProducts", testPairProducts},
		{"Neighbours", testNeighbours},
		{"Factors", testFactors},
		{"Cholesky", testCholesky},
		{"Indefinite", testIndefinite},
		{"Triangular", testTriangular},
		{"Pivots", testPivots},
		{"SmallPivots", testSmallPivots},
		{"Fourier", testFourier},
		{"FourierForms", testFourierForms},
		{"FourierGraph", testFourierGraph},
		{"InPlace", testInPlace},
		{"Pending", testPending},
		{"Contents", testContents},
		{"Training", testTraining},
		{"Locked", testLocked},
		{"Scopes", testScopes},
		{"ScopeErrors", testScopeErrors},
		{"NoAxes", testNoAxes},
		{"Chains", testChains}, // waits for what is being compiled: before the hundreds of kernels of Expressions
		{"Folds", testFolds},
		{"FoldedLines", testFoldedLines},
		{"Expressions", testExpressions},
		{"ExpressionBounds", testExpressionBounds},
		{"Products", testProducts},
		{"ProductLayouts", testProductLayouts},
		{"Batches", testBatches},
		{"Frames", testFrames},
		{"LongK", testLongK},
		{"LongProducts", testLongProducts},
		{"LastRows", testLastRows},
		{"StreamK", testStreamK},
		{"ShortK", testShortK},
		{"OddRows", testOddRows},
		{"Pads", testPads},
		{"ShortTiles", testShortTiles},
		{"Linear", testLinear},
		{"Tails", testTails},
		{"TailCasts", testTailCasts},
		{"Pack", testPack},
		{"Kernels", testKernels},
		{"Forms", testForms},
		{"Few", testFew},
		{"Spread", testSpread},
		{"Gram", testGram},
		{"Conj", testConj},
		{"Accuracy", testAccuracy},
		{"NonFinite", testNonFinite},
		{"Repeat", testRepeat},
		{"Strided", testStrided},
		{"StridedOrder", testStridedOrder},
		{"StridedAxes", testStridedAxes},
		{"Errors", testErrors},
		{"Refusals", testRefusals},
		{"Precision", testPrecision},
		{"Memory", testMemory},
		{"Goroutines", testGoroutines},
		{"Temporaries", testTemporaries},
		{"Dropped", testDropped},
		{"Streams", testStreams},
		{"Overlap", testOverlap},
		{"Random", testRandom},
		{"Draws", testDraws},
		{"Graphs", testGraphs},
		{"UserKernels", testUserKernels},
		{"Profile", testProfile},
		{"Layers", testLayers},
		{"Encoder", testEncoder},
		{"Quantum", testQuantum},
		{"Unified", testUnified},
		{"Routes", testRoutes},
		{"Model", testModel}, // it leaves hundreds of kernels to be compiled
		{"MatMuls", testMatMuls},
		{"Worker", testWorker},
		{"Sanitize", testSanitize},
	} {
		t.Run(c.name, func(t *testing.T) {
			seed := *fixedSeed
			if seed == 0 {
				seed = rand.Uint64()
			}
			t.Logf("seed %#x on %v", seed, dev)
			c.run(t, &suite{dev: dev, rng: rand.New(rand.NewPCG(seed, 0))})
		})
	}
}
