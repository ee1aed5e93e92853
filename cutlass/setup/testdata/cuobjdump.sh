#!/bin/sh
# A disassembly with one wgmma kernel for each instance in the object's text,
# which is its source (nvcc.sh), and one kernel without. The unit of attention has
# one wgmma kernel alone. FAKE_EMPTY: no wgmma; FAKE_PLAIN: that one has none.
if grep -q 'attention_sm90.cu:' "$2"; then
  echo "	Function : attend"
  [ -n "$FAKE_EMPTY$FAKE_PLAIN" ] || echo "        /*0010*/  HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;"
  exit 0
fi
echo "	Function : plain"
echo "        /*0000*/  FADD R1, R2, R3 ;"
grep -c -E 'GPK_(GEMM|SCALED|DIRECT|STREAMK|LARGE)90' "$2" >/dev/null || exit 0
grep -E 'GPK_(GEMM|SCALED|DIRECT|STREAMK|LARGE)90' "$2" | while read -r line; do
  echo "	Function : _Z$(echo "$line" | cksum | cut -d' ' -f1)"
  [ -n "$FAKE_EMPTY" ] || echo "        /*0010*/  HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;"
  [ -n "$FAKE_EMPTY" ] || echo "        /*0020*/  HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;"
done
