/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WI_RECORD_BTF_H
#define WI_RECORD_BTF_H

#include <stdint.h>

/*
 * Offset in bytes of a member of a structure as the kernel's type data (/sys/kernel/btf/vmlinux) say; -1 if the file
 * is absent or does not say. Only members at the structure's own level are looked at.
 */
int32_t wi_btf_member_offset(const char *path, const char *structure, const char *member);

#endif
