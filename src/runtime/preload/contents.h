/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The contents of the tree: the files of sysfs and their text. */
#ifndef ADV_RUNTIME_PRELOAD_CONTENTS_H
#define ADV_RUNTIME_PRELOAD_CONTENTS_H

#include "runtime/control/counters.h"
#include "runtime/identity/rails.h"
#include "runtime/preload/files.h"

struct adv_contents {
	const struct adv_rail_list *rails; /* of this process */
	struct adv_gid_table machine;	   /* adverbd's */
	/* By device: sums over all processes. */
	struct adv_counters counters[ADV_RAILS_MAX];
	bool counted; /* false: the daemon returned no counters */
};

/* A folder of the tree with a link NAME for each interface: to the folder of its first device. */
#define ADV_CONTENTS_BY_NET "by-net"

/* Writes all files, and removes those whose object no longer exists. */
void adv_contents_write(struct adv_files *f, const struct adv_contents *c);

#endif
