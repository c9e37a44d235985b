package rtfilter.test

import java.io.{ByteArrayOutputStream, IOException, OutputStream}
import java.net.URI
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.Options.CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE
import org.apache.hadoop.util.Progressable

/** What goes wrong, and how slowly. Steps are open, read, create, rename, delete, list, status. */
object Faults {
  @volatile var delayMs: Long = 0L
  @volatile private var forbidden: Option[String] = None
  @volatile private var held: Option[String] = None
  private val countdowns = new ConcurrentHashMap[String, AtomicInteger]
  private val counts = new ConcurrentHashMap[String, AtomicInteger]

  /** The n-th step of this kind from now on fails, once; a create that fails takes half of the bytes first. */
  def failAt(step: String, n: Int): Unit = countdowns.put(step, new AtomicInteger(n))
  def delay(ms: Long): Unit = delayMs = ms
  /** Whatever has this in its path can't be opened, listed or looked at. */
  def forbid(part: String): Unit = forbidden = Some(part)
  /** Whoever opens, lists or looks at a path with this in it waits for `release`. */
  def hold(part: String): Unit = held = Some(part)
  def release(): Unit = synchronized { held = None; notifyAll() }
  def clear(): Unit = { delayMs = 0L; forbidden = None; release(); countdowns.clear(); counts.clear() }
  def count(step: String): Int = Option(counts.get(step)).map(_.get).getOrElse(0)

  def met(step: String): Boolean = {
    counts.computeIfAbsent(step, _ => new AtomicInteger).incrementAndGet()
    if (delayMs > 0 && step != "read") Thread.sleep(delayMs)
    Option(countdowns.get(step)).exists(_.decrementAndGet() == 0)
  }
  def meet(step: String): Unit = if (met(step)) throw new IOException(s"$step failed on purpose")
  def meet(step: String, path: Path): Unit = {
    synchronized { while (held.exists(path.toString.contains(_))) wait() }
    if (forbidden.exists(path.toString.contains(_))) throw new IOException(s"$step of $path forbidden on purpose")
    meet(step)
  }
}

/** Local files under another scheme: slow, and failing when it is told to. */
class SlowFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "slow"
  override def getUri: URI = URI.create(s"$getScheme:///")

  override def open(f: Path, bufferSize: Int): FSDataInputStream = {
    Faults.meet("open", f)
    new FSDataInputStream(new SlowInput(super.open(f, bufferSize)))
  }
  override def create(f: Path, overwrite: Boolean, bufferSize: Int, replication: Short, blockSize: Long,
      progress: Progressable): FSDataOutputStream = SlowFileSystem.synchronized {
    val breaks = Faults.met("create")
    val out = super.create(f, overwrite, bufferSize, replication, blockSize, progress)
    if (!breaks) out else new FSDataOutputStream(new HalfWritten(out), null)
  }
  override def rename(src: Path, dst: Path): Boolean = { Faults.meet("rename"); super.rename(src, dst) }
  override def delete(p: Path, recursive: Boolean): Boolean = { Faults.meet("delete"); super.delete(p, recursive) }
  override def listStatus(f: Path): Array[FileStatus] = { Faults.meet("list", f); super.listStatus(f) }
  override def getFileStatus(f: Path): FileStatus = { Faults.meet("status", f); super.getFileStatus(f) }
}

object SlowFileSystem

/** The same without a word about its create. */
class PlainFileSystem extends SlowFileSystem { override def getScheme: String = "plain" }

/** One that says which kind of stream a client was made for, and when a client is closed. */
class StoreFileSystem extends SlowFileSystem {
  override def getScheme: String = "s3a"
  override def initialize(uri: URI, conf: Configuration): Unit = { Faults.meet("client " + conf.get("fs.s3a.input.stream.type", "as it is")); super.initialize(uri, conf) }
  override def close(): Unit = { Faults.met("closed"); super.close() }
}

/** One that makes files in close() and looks for the name there, as S3A does with conditional writes. */
class ConditionalFileSystem extends SlowFileSystem {
  override def getScheme: String = "cond"
  override def hasPathCapability(path: Path, capability: String): Boolean =
    capability == FS_OPTION_CREATE_CONDITIONAL_OVERWRITE || super.hasPathCapability(path, capability)
  override def createFile(path: Path): FSDataOutputStreamBuilder[_, _] = new ConditionalBuilder(this, path)
}

class ConditionalBuilder(fs: FileSystem, path: Path) extends FSDataOutputStreamBuilder[FSDataOutputStream, ConditionalBuilder](fs, path) {
  override def getThisBuilder: ConditionalBuilder = this
  override def build(): FSDataOutputStream = {
    require(getMandatoryKeys.contains(FS_OPTION_CREATE_CONDITIONAL_OVERWRITE), "not asked for a conditional write")
    new FSDataOutputStream(new ByteArrayOutputStream {
      override def close(): Unit = SlowFileSystem.synchronized {
        val lost = Faults.met("answer")
        val out = fs.create(path, false)
        try out.write(toByteArray) finally out.close()
        if (lost) throw new IOException("the answer got lost on purpose")
      }
    }, null)
  }
}

/** Fails in the middle of a read. */
class SlowInput(in: FSDataInputStream) extends FSInputStream {
  override def read(): Int = { Faults.meet("read"); in.read() }
  override def read(b: Array[Byte], off: Int, len: Int): Int =
    if (!Faults.met("read")) in.read(b, off, len)
    else { in.read(b, off, math.min(len, 1)); throw new IOException("read failed on purpose") }
  override def seek(pos: Long): Unit = in.seek(pos)
  override def getPos: Long = in.getPos
  override def seekToNewSource(target: Long): Boolean = false
  override def close(): Unit = in.close()
}

/** Takes half of the first write, and fails. */
class HalfWritten(out: OutputStream) extends OutputStream {
  override def write(b: Int): Unit = throw new IOException("write failed on purpose")
  override def write(b: Array[Byte], off: Int, len: Int): Unit = {
    out.write(b, off, len / 2)
    out.flush()
    throw new IOException("write failed on purpose")
  }
  override def close(): Unit = out.close()
}
