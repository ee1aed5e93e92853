#!/bin/sh
# pip install, which unpacks what the tests need of NVIDIA's wheels.
case "$*" in *"pip --version"*) echo "pip 99"; exit 0 ;; esac
echo "$*" >>"$FAKE/pip"
for a in "$@"; do
  case "$last" in
  --target) target=$a ;;
  --requirement) requirements=$a ;;
  esac
  last=$a
done
mkdir -p "$target"
name=$(basename "$requirements" .txt)
if [ "$name" = "$FAKE_HANG" ]; then
  mkdir -p "$target/nvidia/cu13/bin"
  printf half >"$target/nvidia/cu13/bin/nvcc"
  : >"$FAKE/hanging"
  exec sleep 60
fi
if [ "$name" = "$FAKE_FAIL" ]; then
  echo "ERROR: No matching distribution found for nvidia-something" >&2
  exit 1
fi
case "$name" in
cuda)
  mkdir -p "$target/nvidia/cu13/bin" "$target/nvidia/cu13/lib"
  cp "$FAKE/nvcc.sh" "$target/nvidia/cu13/bin/nvcc"
  ;;
cutlass)
  mkdir -p "$target/cutlass_library/source/include/cutlass"
  : >"$target/cutlass_library/source/include/cutlass/cutlass.h"
  ;;
sass)
  mkdir -p "$target/nvidia/cu13/bin"
  cp "$FAKE/cuobjdump.sh" "$target/nvidia/cu13/bin/cuobjdump"
  ;;
esac
