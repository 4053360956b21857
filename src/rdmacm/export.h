/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exported symbols: librdmacm.map lists the names of the ABI. */
#ifndef ADV_RDMACM_EXPORT_H
#define ADV_RDMACM_EXPORT_H

#define ADV_EXPORT __attribute__((visibility("default"), used))

/* Exports `target` as the default version `name`@@`node`. */
#define ADV_EXPORT_DEFAULT(target, name, node) __asm__(".symver " #target ", " #name "@@" node)

#endif
