/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exporting. libibverbs.map says which names make the ABI; here is what marks a function as one of
 * them, and how one function is exported under another name or an older node.
 */
#ifndef ADV_VERBS_EXPORT_H
#define ADV_VERBS_EXPORT_H

#define ADV_EXPORT __attribute__((visibility("default"), used))

/* Exports `target` as the default version `name`@@`node`. */
#define ADV_EXPORT_DEFAULT(target, name, node) __asm__(".symver " #target ", " #name "@@" node)

/* Exports `target` as `name`@`node`, which only programs bound to that node see. */
#define ADV_EXPORT_OLD(target, name, node) __asm__(".symver " #target ", " #name "@" node)

#endif
