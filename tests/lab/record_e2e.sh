#!/bin/bash
# record_e2e.sh: wakeif record, record-exec and the script of doc/markers.md on a real kernel, in an emulated guest with SMT.
# Needs qemu-system-x86, busybox-static, cpio, trace-cmd, rt-tests (hackbench) and a Debian kernel package: $WAKEIF_KERNEL_DEB, or it is
# downloaded with apt-get. Skips visibly without them. $KEEP names a folder that keeps the guest's recordings. Ends with "N passed, N failed".
set -u
here=$(cd "$(dirname "$0")" && pwd); root=$(cd "$here/../.." && pwd)
O=${O:-build}; [ "${O:0:1}" = / ] || O=$root/$O
skip() { echo "skipped: $*"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
for p in qemu-system-x86_64 busybox cpio trace-cmd hackbench dpkg-deb; do command -v $p > /dev/null || skip "no $p on this machine"; done
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
deb=${WAKEIF_KERNEL_DEB:-}
if [ -z "$deb" ]; then
	name=$(apt-cache depends linux-image-amd64 2> /dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
	[ -n "$name" ] && ( cd "$work" && apt-get download -qq "$name" > /dev/null 2>&1 )
	deb=$(ls "$work"/linux-image-*.deb 2> /dev/null | head -1)
fi
[ -f "$deb" ] || skip "no kernel package (set WAKEIF_KERNEL_DEB)"
"$here/build_initramfs.sh" "$deb" "$work/k" hackbench "$O/wakeif" || skip "cannot build the guest"
share=${KEEP:-$work/share}; mkdir -p "$share"; share=$(readlink -f "$share")
cp "$here/guest/record.sh" "$share/job.sh"
awk '/^```sh/ { p = 1; next } /^```/ { p = 0 } p' "$root/doc/markers.md" > "$share/markers.sh"
echo "guest: Linux $(cat "$work/k/version")"
# A guest emulated on several threads now and then dies in code that it is patching itself (int3 in a static branch): that says
# nothing about wakeif. The last attempt emulates on one thread, which is slower and does not.
for accel in multi multi single; do
	rm -rf "$share/results" "$share/out"
	TMO=${TMO:-900} ACCEL=tcg,thread=$accel "$here/run_vm.sh" "$work/k" smt8 "$share" > "$share/console.log" 2>&1
	grep -qa 'GUEST DONE' "$share/console.log" && break
	echo "the guest died ($accel): $(tr -d '\r' < "$share/console.log" | grep -a -m1 -E 'Oops|panic|BUG|stall' | cut -c1-150)"
done
grep -qa 'GUEST DONE' "$share/console.log" || { echo "0 passed, 1 failed"; exit 1; }
O=$O /usr/bin/python3 "$here/check_e2e.py" "$share"
