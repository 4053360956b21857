/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that do not use Adverb's libraries, and so find no device, although `adverb run` started
 * them. */
#ifndef ADV_RUNTIME_PRELOAD_FOREIGN_H
#define ADV_RUNTIME_PRELOAD_FOREIGN_H

#include <stdbool.h>

/* Call it when the process looks for an RDMA device. If a libibverbs or librdmacm that is not
 * Adverb's is loaded, logs an error with the reason and the remedy, once in a process. errno is
 * kept. */
void adv_foreign_check(void);

/* Call it before a program is executed. If it is linked statically, with a library of RDMA, logs an
 * error. by_name: the folders of PATH are searched. Safe in a child of vfork(). errno is kept. */
void adv_foreign_check_program(const char *name, bool by_name);

#endif
