/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The contents of the tree: the files of sysfs and their text. */
#ifndef ADV_RUNTIME_PRELOAD_CONTENTS_H
#define ADV_RUNTIME_PRELOAD_CONTENTS_H

#include "runtime/control/counters.h"
#include "runtime/control/gid_table.h"
#include "runtime/preload/files.h"

struct adv_contents {
	struct adv_gid_table gids;
	struct adv_counters counters; /* sums over all processes */
	bool counted;		      /* false: the daemon returned no counters */
};

/* Writes all files, and removes those whose object no longer exists. */
void adv_contents_write(struct adv_files *f, const struct adv_contents *c);

#endif
