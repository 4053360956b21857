/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Symbol export. libibverbs.map and librdmacm.map list the names of the ABI. The macros here mark a
 * function as exported, or export it under another name or an older version node.
 */
#ifndef ADV_BASE_EXPORT_H
#define ADV_BASE_EXPORT_H

#define ADV_EXPORT __attribute__((visibility("default"), used))

/*
 * gcc needs the attribute for link-time optimization, which moves functions away from the assembly
 * of their file. clang does not have it.
 */
#if __has_attribute(symver)
#define ADV_SYMVER(target, symbol) extern __typeof__(target) target __attribute__((symver(symbol)))
#else
#define ADV_SYMVER(target, symbol) __asm__(".symver " #target ", " symbol)
#endif

/* Exports `target` as the default version `name`@@`node`. */
#define ADV_EXPORT_DEFAULT(target, name, node) ADV_SYMVER(target, #name "@@" node)

/* Exports `target` as `name`@`node`, for programs that are bound to that node. */
#define ADV_EXPORT_OLD(target, name, node) ADV_SYMVER(target, #name "@" node)

#endif
