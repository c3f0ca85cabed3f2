#!/bin/bash
# Runs programs of a build tree on a processor with AVX-512 that bochs emulates: a Debian kernel, and a file system with the build tree, gcc,
# clang and the libraries they need, copied from this machine. By hand, on Debian, an hour; nothing is installed: packages are unpacked in WORK.
#   avx512.sh BUILD WORK [COMMANDS]       COMMANDS: a file of shell lines, run in the build tree; default: those at the end of this script
# What a command prints is in WORK/out/NAME.txt, one line for each in WORK/serial.txt. BOCHS names another bochs than Debian's, which is built with
# its debugger and three times slower than one configured with
#   --enable-x86-64 --enable-avx --enable-evex --enable-all-optimizations --disable-plugins --with-nogui
# (and BX_SHOW_IPS 0 in config.h: its once-a-second report can block); BOCHS_DISPLAY is then nogui.
set -eu
build=$(realpath "$1") work=$(realpath -m "$2") commands=${3:-}
[ -z "$commands" ] || commands=$(realpath "$commands")
source=$(realpath "$(dirname "$0")/../..")
mkdir -p "$work/debs" "$work/out" && cd "$work"

kernel=$(apt-cache depends linux-image-amd64 | awk '/Depends/ { print $2; exit }')
[ -e x ] || {
  (cd debs && apt-get download "$kernel" bochs bochs-term bochsbios vgabios busybox-static libltdl7 libsamplerate0 isolinux syslinux-common \
    xorriso libisoburn1 libisofs6 libburn4 libjte2 cpio)
  for deb in debs/*.deb; do dpkg -x "$deb" x; done
}
unpacked=$work/x/usr/lib/x86_64-linux-gnu

# ---- the first file system: what mounts the second ----
rm -rf first iso && mkdir -p first/bin first/proc first/sys first/dev first/disk first/modules iso/isolinux
cp x/bin/busybox first/bin/ && ln -s busybox first/bin/sh
modules="scsi_common scsi_mod libata ata_piix crct10dif_common crct10dif_generic crc-t10dif crc64 crc64_rocksoft_generic crc64-rocksoft t10-pi
  sd_mod crc16 crc32c_generic libcrc32c mbcache jbd2 ext4"
for m in $modules; do find x/lib/modules -name "$m.ko" -exec cp {} first/modules/ \; ; done
cat >first/init <<END
#!/bin/sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t devtmpfs dev /dev
for m in $(echo $modules); do [ -f /modules/\$m.ko ] && insmod /modules/\$m.ko; done
for i in 1 2 3 4 5 6 7 8 9; do [ -b /dev/sda ] && break; sleep 1; done
mount -t ext4 /dev/sda /disk
mount -t proc proc /disk/proc; mount -t devtmpfs dev /disk/dev
chroot /disk /bin/sh /job.sh </dev/null
umount /disk/dev/shm /disk/proc /disk/dev; umount /disk; sync
poweroff -f
END
chmod +x first/init
(cd first && find . | ../x/bin/cpio -o -H newc --quiet >../iso/first.cpio)
cp x/boot/vmlinuz-* iso/vmlinuz
cp x/usr/lib/ISOLINUX/isolinux.bin x/usr/lib/syslinux/modules/bios/ldlinux.c32 iso/isolinux/
cat >iso/isolinux/isolinux.cfg <<'END'
DEFAULT linux
LABEL linux
  KERNEL /vmlinuz
  INITRD /first.cpio
  APPEND console=ttyS0,115200 loglevel=4 mitigations=off tsc=reliable clocksource=tsc no_timer_check lpj=1000000 random.trust_cpu=on panic=1
END
rm -f boot.iso
LD_LIBRARY_PATH=$unpacked x/usr/bin/xorriso -as mkisofs -quiet -o boot.iso -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot \
  -boot-load-size 4 -boot-info-table iso 2>/dev/null

# ---- the second: everything at its place on this machine ----
root=$work/root
rm -rf "$root" && mkdir -p "$root"/proc "$root"/dev "$root"/tmp "$root"/root "$root"/etc "$root"/out "$root"/usr/bin "$root"/usr/lib "$root"/usr/lib64
for d in lib lib64 bin; do ln -s usr/$d "$root/$d"; done
ln -s usr/bin "$root/sbin"
# put FILE...: and what symbolic links lead to
put() {
  for f in "$@"; do
    [ -e "$f" ] || continue
    mkdir -p "$root$(dirname "$f")" "$root$(dirname "$(readlink -f "$f")")"
    cp -a "$f" "$root$(dirname "$f")/"
    [ ! -L "$f" ] || cp -n "$(readlink -f "$f")" "$root$(readlink -f "$f")"
  done
}
libraries() {
  for f in "$@"; do ldd "$f" 2>/dev/null || true; done | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u
}
# with_libraries PROGRAM...
with_libraries() { put "$@"; for f in "$@"; do put $(libraries "$(readlink -f "$f")"); done; }
with_libraries "$(command -v clang-19)" # stays in LLVM's folder: it looks for its headers from there
for tool in gcc cc as ld bash dash grep sed cmp awk timeout uname; do
  tool=$(command -v $tool) && put $(libraries "$tool") && mkdir -p "$root/usr/bin" && cp -L "$tool" "$root/usr/bin/"
done
gcc=$(dirname "$(gcc -print-libgcc-file-name)") lib=/usr/lib/x86_64-linux-gnu
with_libraries "$gcc/cc1" "$gcc/collect2"
put "$gcc"/crt*.o "$gcc"/libgcc* "$gcc/liblto_plugin.so" "$gcc/include" /usr/lib/llvm-19/bin/clang /usr/lib/llvm-19/lib/clang/19/include
put /lib64/ld-linux-x86-64.so.2 $lib/crt*.o $lib/Scrt1.o $lib/libc.so $lib/libc.so.6 $lib/libc_nonshared.a $lib/libm.so $lib/libm.so.6 $lib/libm.a \
  $lib/libm-2.*.a $lib/libmvec.* $lib/libgcc_s.so.1 $lib/libsleef*.so* $lib/libdl.so.2 $lib/libpthread.so.0
put /usr/include/*.h /usr/include/x86_64-linux-gnu/bits /usr/include/x86_64-linux-gnu/sys /usr/include/x86_64-linux-gnu/gnu \
  /usr/include/x86_64-linux-gnu/asm /usr/include/linux /usr/include/asm-generic
[ -e modules ] || "$source/tests/emulated/modules.sh" "$build" modules "${RANDOM_FUNCTIONS:-100}"
put "$work/modules" "$build/bin" "$build"/lib/*.so* "$source/tests" "$source/include" $(libraries "$build"/bin/* "$build"/lib/*.so)
cp x/bin/busybox "$root/usr/bin/"
for tool in $(x/bin/busybox --list); do [ -e "$root/usr/bin/$tool" ] || ln -s busybox "$root/usr/bin/$tool"; done
ln -sf dash "$root/usr/bin/sh"
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
cat >"$root/job.sh" <<END
export HOME=/root PATH=/usr/bin XDG_CACHE_HOME=/tmp/cache SCALY_TEST_SAY=1
mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm
tests=$source/tests modules=$work/modules
cd $build
# run NAME COMMAND...
run() {
  name=\$1; shift
  "\$@" >/out/\$name.txt 2>&1
  echo "### \$name: exit \$?, \$(tail -n 1 /out/\$name.txt)"
  sync
}
END
if [ -n "$commands" ]; then
  cat "$commands" >>"$root/job.sh"
else
  cat >>"$root/job.sh" <<'END'
run toolchain bin/scaly toolchain
run modules sh $modules/run.sh
run accuracy bin/accuracy --points 1024
run record bin/accuracy --points 32768 --record /out/record.bin
for w in wave_n64 rosen_n10 race_car_N10; do run bits.$w bin/targets_bits $tests/data/workloads/$w.scaly; done
run bits.shapes bin/targets_bits $tests/targets/shapes.scaly
for w in wave_n64 reduce_norm_n100; do
  run strict.$w sh $tests/targets/strict.sh $PWD/bin/abi_export $tests/data/workloads/$w.scaly /tmp/$w generic
done
run lanes bin/test_diff --filter 'lanes/*'
run random bin/diff_random --count 3
END
fi
rm -f disk.img disk.img.lock && truncate -s 2500M disk.img && mke2fs -q -t ext4 -O ^has_journal -d "$root" disk.img

# ---- the machine ----
cat >bochsrc <<END
display_library: ${BOCHS_DISPLAY:-term}
megs: 2048
romimage: file=$work/x/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=$work/x/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model=corei7_skylake_x, count=1, ips=200000000
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, path=$work/disk.img, mode=flat
ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15
ata1-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial.txt
log: $work/bochs.log
panic: action=fatal
clock: sync=none, time0=local
END
echo c >start
if [ -n "${BOCHS:-}" ]; then
  "$BOCHS" -q -f bochsrc </dev/null >/dev/null 2>&1 || true
else
  LD_LIBRARY_PATH=$unpacked LTDL_LIBRARY_PATH=$unpacked/bochs/plugins TERM=xterm \
    script -qc "x/usr/bin/bochs-bin -q -f bochsrc -rc start" /dev/null </dev/null >/dev/null 2>&1 || true
fi
rm -rf out && debugfs -R "rdump /out $work" disk.img 2>/dev/null
grep '^###' serial.txt
