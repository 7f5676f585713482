#!/bin/bash
# run_vm.sh KERNELDIR TOPOLOGY SHAREDIR [kernel arguments]
#   TOPOLOGY: smt8   1 socket x 4 cores x 2 threads           (8 CPUs)
#             numa16 2 sockets x 4 cores x 2 threads, 2 nodes (16 CPUs)
#             nosmt4 1 socket x 4 cores x 1 thread            (4 CPUs)
# Boots an emulated guest with SHAREDIR as /mnt; the guest runs /mnt/job.sh and powers off.
# Environment: ACCEL (tcg,thread=multi), MEM (3G), TMO (host time-out in seconds, 900).
set -u
# An emulated guest calibrates its TSC against an emulated timer, which goes wrong on a busy host: tell it the frequency.
tsc=$(dmesg 2>/dev/null | sed -nE "s/.*tsc: Detected ([0-9]+)\.([0-9]+) MHz.*/\1\2/p" | head -1)
k=$1 topo=$2 share=$3; shift 3
# An Intel vendor id, so that siblings show up; l3-cache=on: one L3 a socket, so that there is an LLC domain.
cpu="Skylake-Server,l3-cache=on"
mem=${MEM:-3G}
numa=()
case $topo in
smt8)   smp="8,sockets=1,cores=4,threads=2";;
nosmt4) smp="4,sockets=1,cores=4,threads=1";;
numa16) smp="16,sockets=2,cores=4,threads=2"
	half=$(( ${mem%G} / 2 )); mem=$((half*2))G
	numa=(-object memory-backend-ram,id=m0,size=${half}G -object memory-backend-ram,id=m1,size=${half}G
	      -numa node,nodeid=0,memdev=m0,cpus=0-7 -numa node,nodeid=1,memdev=m1,cpus=8-15
	      -numa dist,src=0,dst=1,val=21);;
*) echo "unknown topology $topo"; exit 2;;
esac
exec timeout "${TMO:-900}" qemu-system-x86_64 -accel "${ACCEL:-tcg,thread=multi}" -cpu "$cpu" -smp "$smp" "${numa[@]}" -m "$mem" \
	-kernel "$k/vmlinuz" -initrd "$k/initrd.cpio" \
	-append "console=ttyS0 quiet panic=1 nokaslr mitigations=off nowatchdog tsc=reliable ${tsc:+tsc_early_khz=$tsc} $*" \
	-virtfs "local,path=$share,mount_tag=share,security_model=none" -nographic -no-reboot -net none \
	< /dev/null 2> >(grep -v "TCG doesn't support" >&2)
