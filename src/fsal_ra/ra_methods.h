/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What the files of the stacked FSAL share: the three objects (module, export, handle) and the hooks
 * by which the glue (main, export, handle, file, xattrs) tells the data path (read.c, write.c), its
 * life (lifecycle.c) and the configuration (config.c) what happens.
 *
 * A handle of ours wraps one handle of the sub-FSAL; MDCACHE sits above and owns our handles, so
 * everything here is called with MDCACHE's guarantees: one release per handle, after the last use.
 */
#ifndef RA_METHODS_H
#define RA_METHODS_H

#include "compat.h"

#include "common/visit.h"
#include "disk/backing_slot.h"
#include "disk/export_io.h"
#include "params_table.h"
#include "remote/unstable.h"
#include "shares/shares.h"

/* The module: one per server. */
struct ra_module {
	struct fsal_module module;
	struct fsal_obj_ops handle_ops;
};

/* The module of an export of ours. */
static inline struct ra_module *ra_module_of(const struct fsal_export *exp)
{
	return container_of(exp->fsal, struct ra_module, module);
}

/* Name and parse node of the FSAL below; valid between ra_config_export() and its caller's end. */
struct ra_subfsal {
	char *name;	 /* owned: gsh_free */
	void *fsal_node; /* the parser's: never free, never keep */
};

/* One per EXPORT. Lives until the export's last reference is put, on whichever thread does it. */
struct ra_export {
	struct fsal_export export;
	struct ra_subfsal subfsal;
	struct ra_export_params params; /* as parsed, until they are handed on */
	struct export_io *io;		/* its part of the data path */
	struct shares_export share;
	bool kept;		    /* live_params.h knows of it */
	uint64_t serial;	    /* from 1 on: no other export's, ever */
	struct ra_export *next_far; /* remote_io.c's: its exports that are not released */
	char *user_below;	    /* of the cluster's client; NULL: its own default */
};

/* One per object known to MDCACHE. */
struct ra_handle {
	struct fsal_obj_handle obj_handle;
	struct fsal_obj_handle *sub_handle; /* owned: released with us */
	atomic_bool read_below;		    /* own_answer.h */
	_Atomic uint64_t parent;	    /* walk.h; 0: not known */
	bool far;			    /* remote_is_far() */
	bool cluster;			    /* remote_is_cluster() */
	struct unstable_file unstable;	    /* far_write.h; of such a one */
	uint64_t made_under;	/* the export's serial; 0: it is gone. The module's lock */
	struct visited closing; /* ra_handles_close() */
	struct backing_slot slot;
};

/* export.c; create only once the module has started. */
fsal_status_t ra_create_export(struct fsal_module *module, void *parse_node,
			       struct config_error_type *err_type,
			       const struct fsal_up_vector *up_ops);
fsal_status_t ra_update_export(struct fsal_module *module, void *parse_node,
			       struct config_error_type *err_type, struct fsal_export *original,
			       struct fsal_module *updated_super);

/* handle.c, file.c, xattrs.c: each fills its part of the vector of the handle's methods */
void ra_handle_ops_init(struct fsal_obj_ops *ops);
void ra_file_ops_init(struct fsal_obj_ops *ops);
void ra_xattr_ops_init(struct fsal_obj_ops *ops);

/*
 * With op_ctx, of EXP, which goes and has drained: the sub-FSAL closes the files that it keeps open for I/O without
 * state: those that were found under EXP, and under one that is gone already, if it is the same FSAL's and that needs
 * no export to close them. The next I/O, through another export, opens them again.
 *
 * The sub-FSAL waits for I/O under way in a file, with no lock of ours held. After Drain_Timeout no further one is begun.
 */
void ra_handles_close(struct ra_export *exp);
/*
 * Wraps a handle of the sub-FSAL in one of ours; takes ownership. A failed status passes through and
 * leaves *handle NULL.
 */
fsal_status_t ra_wrap(struct ra_export *exp, fsal_status_t status, struct fsal_obj_handle *sub,
		      struct fsal_obj_handle **handle);

fsal_status_t ra_lookup_path(struct fsal_export *exp_hdl, const char *path,
			     struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out);
fsal_status_t ra_lookup_junction(struct fsal_export *exp_hdl, struct fsal_obj_handle *junction,
				 struct fsal_obj_handle **handle);
fsal_status_t ra_create_handle(struct fsal_export *exp_hdl, struct gsh_buffdesc *fh_desc,
			       struct fsal_obj_handle **handle, struct fsal_attrlist *attrs_out);

/*
 * config.c. Both return the number of errors, 0 for success; messages go to err_type and the log.
 * ra_config_export fills subfsal (name and node) and params, whose names are the caller's then; on
 * failure it leaves them as they were. It serves create_export and update_export (SIGHUP).
 */
int ra_config_module(config_file_t config, struct config_error_type *err_type);
/*
 * At SIGHUP: the same with the block RA of the file that is being read; a file without one changes
 * nothing, nor does one that is wrong.
 */
int ra_config_module_again(struct config_error_type *err_type);
/* While the module has not started: as ra_config_module_again(), but without a block RA all is at its default. */
int ra_config_module_late(struct config_error_type *err_type);
int ra_config_export(void *parse_node, struct ra_subfsal *subfsal, struct ra_export_params *params,
		     struct config_error_type *err_type);

/* reload.c: an export came, or is updated: the block RA is read again once in a round of updates. */
void ra_reload_export_new(uint16_t export_id);
void ra_reload_export_update(uint16_t export_id, struct config_error_type *err_type);

/* read.c, write.c: the data path */
void ra_read2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	      struct fsal_io_arg *read_arg, void *caller_arg);
void ra_write2(struct fsal_obj_handle *obj_hdl, bool bypass, fsal_async_cb done_cb,
	       struct fsal_io_arg *write_arg, void *caller_arg);
#if RA_HAVE_CONTROL_AND_COPY
fsal_status_t ra_copy_file_range(struct fsal_obj_handle *src_hdl, struct state_t *src_state,
				 struct fsal_obj_handle *dst_hdl, struct state_t *dst_state,
				 uint64_t src_offset, uint64_t dst_offset, uint64_t count,
				 uint64_t *copied);
#endif

/* lifecycle.c: life of an export. start returns 0 or an errno, which fails create_export. */
int ra_io_export_start(struct ra_export *exp);
/*
 * SIGHUP: other parameters. First only asks whether the share of them can be; false, after a line in the log: it cannot. Nothing
 * changes before the FSAL below has agreed, for where that refuses, what operators have set stays in force.
 */
bool ra_io_export_may(struct ra_export *exp);
/*
 * Then puts them into force: 0, or after a line in the log ENOMEM, or EINVAL if other exports have taken the last share meanwhile;
 * then all of ours is as it was.
 */
int ra_io_export_update(struct ra_export *exp);
/* Drain_Timeout, ns. */
uint64_t ra_io_drain_timeout(void);
/* No new I/O is coming: wait, until export_io_deadline(), for what is queued. Comes more than once. */
void ra_io_export_drain(struct ra_export *exp);
/* The export's memory goes next. May run on a dispatcher thread: waits for nothing. */
void ra_io_export_release(struct ra_export *exp);
/* The export's root is known, on the file system mounted at PATH: its device is in use from now on. */
void ra_io_export_root(struct ra_export *exp, const char *path);
/* A name was replaced, below whichever export: a file may have lost its last one. O(1). */
void ra_io_renamed(void);
/* fsstat.c: after the sub-FSAL filled FSSTAT's counters. */
void ra_io_fsstat(struct ra_export *exp, fsal_dynamicfsinfo_t *info);

/* lifecycle.c: life of the module. start returns 0 or an errno; stop may come twice, or without start. */
int ra_io_module_start(void);
bool ra_io_module_runs(void);
/* Parameters of the block RA { } may have changed on the running server. */
void ra_io_module_update(void);
void ra_io_module_stop(void);

#endif /* RA_METHODS_H */
