#!/bin/bash
# build_initramfs.sh KERNEL_DEB OUTDIR PROGRAM...
#
# Unpacks a Debian linux-image package and builds an uncompressed initramfs: busybox, the host's trace-cmd and the given
# programs with their shared libraries, and the modules that a virtio 9p mount needs. (Uncompressed: in an emulated guest
# unpacking a cpio is far cheaper than gunzip.) Result: OUTDIR/vmlinuz, OUTDIR/initrd.cpio, OUTDIR/version
set -euo pipefail
deb=$(readlink -f "$1"); out=$2; shift 2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"; out=$(readlink -f "$out")
x=$out/deb; r=$out/root
rm -rf "$x" "$r"; mkdir -p "$x" "$r"
dpkg-deb -x "$deb" "$x"
cp "$x"/boot/vmlinuz-* "$out/vmlinuz"
ver=$(basename "$x"/boot/vmlinuz-*); ver=${ver#vmlinuz-}; echo "$ver" > "$out/version"

mkdir -p "$r"/{bin,sbin,usr/bin,usr/sbin,proc,sys,dev,tmp,data,run,mnt,root,etc,lib/m,lib64,usr/lib}
cp "$(command -v busybox)" "$r/bin/busybox"
for a in $(busybox --list); do [ -e "$r/bin/$a" ] || ln -s busybox "$r/bin/$a"; done
add() { # a program and its shared libraries; the host's replaces busybox's applet
	local p; p=$(command -v "$1") || { echo "not on this host: $1" >&2; return 1; }
	rm -f "$r/bin/$(basename "$p")"; cp -L "$p" "$r/bin/"
	{ ldd "$p" 2>/dev/null || true; } | awk '/=> \//{print $3} /^\t\/lib64\/ld/{print $1}' |
	while read -r l; do mkdir -p "$r$(dirname "$l")"; [ -e "$r$l" ] || cp -L "$l" "$r$l"; done
}
for p in bash trace-cmd taskset chrt "$@"; do add "$p"; done
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n' > "$r/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' > "$r/etc/group"
m=$(find "$x" -type d -path "*/lib/modules/$ver" | head -1)
for n in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci fscache netfs 9pnet 9pnet_virtio 9p; do
	f=$(find "$m" -name "$n.ko*" | head -1); [ -n "$f" ] || continue
	case $f in *.xz) xz -dc "$f" > "$r/lib/m/$n.ko";; *.zst) zstd -qdc "$f" > "$r/lib/m/$n.ko";; *) cp "$f" "$r/lib/m/$n.ko";; esac
done
cp "$here/guest/init" "$r/init"; chmod +x "$r/init"
( cd "$r"; find . | cpio -o -H newc --quiet ) > "$out/initrd.cpio"
rm -rf "$x" "$r"
