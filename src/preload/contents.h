/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is in the tree: each file of sysfs and what it says. */
#ifndef ADV_PRELOAD_CONTENTS_H
#define ADV_PRELOAD_CONTENTS_H

#include "host/counters.h"
#include "host/gid_table.h"
#include "preload/files.h"

struct adv_contents {
	struct adv_gid_table gids;
	struct adv_counters counters; /* of the whole machine */
	bool counted;		      /* false: the daemon does not tell */
};

/* Writes all of it, and takes away what is there no longer. */
void adv_contents_write(struct adv_files *f, const struct adv_contents *c);

#endif
