//! A daemon that obeys signals and tells the service manager how it stands.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;
use sleeve_config::Plan;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::daemon::Daemon;
use crate::error::EngineError;

/// Runs a daemon until a signal ends it: the first SIGTERM or SIGINT drains, the second one ends
/// at once.
///
/// # Errors
/// [`EngineError`] if it cannot start, or if a thread ended by a fault.
pub fn run(plan: Plan) -> Result<(), EngineError> {
    raise_descriptor_limit();
    let runtime =
        Builder::new_current_thread().enable_all().build().map_err(EngineError::Runtime)?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(EngineError::Runtime)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(EngineError::Runtime)?;
        let mut daemon = Daemon::start(plan)?;
        for address in daemon.addresses() {
            info!(%address, "listening");
        }
        notify(&[NotifyState::Ready]);
        let mut asked = 0;
        loop {
            tokio::select! {
                _ = terminate.recv() => asked += 1,
                _ = interrupt.recv() => asked += 1,
                () = daemon.ended() => break,
            }
            if asked == 1 {
                info!("draining: no new connections, living ones go on");
                notify(&[NotifyState::Stopping]);
                daemon.drain();
            } else {
                warn!("ending at once");
                daemon.stop();
            }
        }
        daemon.wait()
    })
}

/// Calls `told` at each interrupt from the keyboard, from a thread of its own, until the process
/// ends. Without a thread, an interrupt ends the process at once, as ever.
pub fn on_interrupt(mut told: impl FnMut() + Send + 'static) {
    let watch = move || {
        let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                told();
            }
        });
    };
    drop(std::thread::Builder::new().name("interrupt".to_owned()).spawn(watch));
}

/// Many connections need many descriptors; what the hard limit allows is for the operator to say.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        warn!(%error, "the limit of descriptors stays as it is");
    }
}

fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!(%error, "the service manager cannot be told");
    }
}
