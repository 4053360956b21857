/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nfs/result_size.h"

#include <stddef.h>

enum {
	HEAD = 8, /* number and status of the operation */
	STATEID = 16,
	CHANGE = 20,	   /* change_info4 */
	BITMAP = 16,	   /* up to three words */
	OPAQUE = 4 + 1024, /* NFS4_OPAQUE_LIMIT: an owner; longer names of users are unusual */
	DENIED = 8 + 8 + 4 + 8 + OPAQUE, /* LOCK4denied */
	DELEGATION = 4 + STATEID + 4 + 12 + 12 + OPAQUE,
};

static const uint32_t results[] = {
	[3] = HEAD + 8,						  /* ACCESS */
	[4] = HEAD + STATEID,					  /* CLOSE */
	[5] = HEAD + 8,						  /* COMMIT */
	[6] = HEAD + CHANGE + BITMAP,				  /* CREATE */
	[7] = HEAD,						  /* DELEGPURGE */
	[8] = HEAD,						  /* DELEGRETURN */
	[9] = HEAD + BITMAP + 4,				  /* GETATTR */
	[10] = HEAD + 4 + 128,					  /* GETFH */
	[11] = HEAD + CHANGE,					  /* LINK */
	[12] = HEAD + DENIED,					  /* LOCK */
	[13] = HEAD + DENIED,					  /* LOCKT */
	[14] = HEAD + STATEID,					  /* LOCKU */
	[15] = HEAD,						  /* LOOKUP */
	[16] = HEAD,						  /* LOOKUPP */
	[17] = HEAD,						  /* NVERIFY */
	[18] = HEAD + STATEID + CHANGE + 4 + BITMAP + DELEGATION, /* OPEN */
	[19] = HEAD,						  /* OPENATTR */
	[20] = HEAD + STATEID,					  /* OPEN_CONFIRM */
	[21] = HEAD + STATEID,					  /* OPEN_DOWNGRADE */
	[22] = HEAD,						  /* PUTFH */
	[23] = HEAD,						  /* PUTPUBFH */
	[24] = HEAD,						  /* PUTROOTFH */
	[25] = HEAD + 8,					  /* READ */
	[26] = HEAD + 8 + 8,					  /* READDIR */
	[27] = HEAD + 4,					  /* READLINK */
	[28] = HEAD + CHANGE,					  /* REMOVE */
	[29] = HEAD + 2 * CHANGE,				  /* RENAME */
	[30] = HEAD,						  /* RENEW */
	[31] = HEAD,						  /* RESTOREFH */
	[32] = HEAD,						  /* SAVEFH */
	[34] = HEAD + BITMAP,					  /* SETATTR */
	[35] = HEAD + 16 + 2 * OPAQUE,				  /* SETCLIENTID */
	[36] = HEAD,						  /* SETCLIENTID_CONFIRM */
	[37] = HEAD,						  /* VERIFY */
	[38] = HEAD + 16,					  /* WRITE */
	[39] = HEAD,						  /* RELEASE_LOCKOWNER */
	[40] = HEAD,						  /* BACKCHANNEL_CTL */
	[41] = HEAD + STATEID + 8,				  /* BIND_CONN_TO_SESSION */
	[44] = HEAD,						  /* DESTROY_SESSION */
	[45] = HEAD,						  /* FREE_STATEID */
	[53] = HEAD + 16 + 20,					  /* SEQUENCE */
	[57] = HEAD,						  /* DESTROY_CLIENTID */
	[58] = HEAD,						  /* RECLAIM_COMPLETE */
	[59] = HEAD,						  /* ALLOCATE */
	[62] = HEAD,						  /* DEALLOCATE */
	[69] = HEAD + 12,					  /* SEEK */
	[71] = HEAD,						  /* CLONE */
};

uint32_t adv_nfs_result_size(uint32_t operation)
{
	return operation < sizeof(results) / sizeof(results[0]) ? results[operation] : 0;
}

/* Attributes by the words of a bitmap4: those whose values are short, together `bytes` long, and
 * those that are names of users. Others, such as access control lists, have no bound. */
static const struct {
	uint32_t bounded, bytes, names;
} words[] = {
	{~(1u << 12 | 1u << 24), 400, 0}, /* not: acl, fs_locations */
	/* From 33 mode to 60 change_policy; not: dacl, sacl. The names: owner, owner_group. */
	{0x13ffffceu, 280, 0x30},
	/* suppattr_exclcreat, change_attr_type, mode_umask, xattr_support */
	{1u << 11 | 1u << 15 | 1u << 17 | 1u << 18, 40, 0},
};

uint32_t adv_nfs_attributes_size(uint32_t index, uint32_t word)
{
	if (word == 0)
		return 0;
	if (index >= sizeof(words) / sizeof(words[0]) ||
	    (word & ~(words[index].bounded | words[index].names)) != 0)
		return UINT32_MAX;
	return words[index].bytes +
	       (uint32_t)__builtin_popcount(word & words[index].names) * OPAQUE;
}
